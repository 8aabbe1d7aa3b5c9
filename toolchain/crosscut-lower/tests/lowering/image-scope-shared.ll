; Kernels that share a variable of the image may share other device globals too, which are parameters: of the
; static of those nothing is left that each kernel would bring along.
@_RNvCsgbTIekHar5R_1p3OWN = internal global [8 x i8] c"\00\00\00\00\01\02\00\00", align 4
@_RNvCsgbTIekHar5R_1p6SHARED = hidden global [8 x i8] c"\00\00\00\00\03\04\00\00", align 4
define void @_RNvCsgbTIekHar5R_1p5first() {
start:
  call void @__crosscut_kernel(i64 13, i32 1, i64 0)
  %own = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p3OWN, i64 4, i64 4, i64 7)
  %value = load i32, ptr %own, align 4
  %shared = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p6SHARED, i64 4, i64 4, i64 6)
  %old = atomicrmw add ptr %shared, i32 %value monotonic, align 4
  ret void
}

define void @_RNvCsgbTIekHar5R_1p6second() {
start:
  call void @__crosscut_kernel(i64 14, i32 1, i64 0)
  %shared = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p6SHARED, i64 4, i64 4, i64 6)
  %value = load i32, ptr %shared, align 4
  %own = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p3OWN, i64 4, i64 4, i64 7)
  %old = atomicrmw xor ptr %own, i32 %value monotonic, align 4
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_global_address(ptr, i64, i64, i64)
