; Device globals with image scope become variables of the image that carry their properties, for drivers
; that know the decorations: the host reads the first one only, the second is in an FPGA's registers.
@_RNvCsgbTIekHar5R_1p3ONE = internal global [8 x i8] c"\00\00\00\00\01\02\00\00", align 4
@_RNvCsgbTIekHar5R_1p3TWO = internal global [8 x i8] zeroinitializer, align 4
define void @_RNvCsgbTIekHar5R_1p6scoped() {
start:
  call void @__crosscut_kernel(i64 13, i32 1, i64 0)
  %one = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p3ONE, i64 4, i64 4, i64 3)
  %value = load i32, ptr %one, align 4
  %two = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p3TWO, i64 4, i64 4, i64 87)
  %old = atomicrmw add ptr %two, i32 %value monotonic, align 4
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_global_address(ptr, i64, i64, i64)
