; The address of a device global is a parameter, so what is computed from it is instructions, also in a phi.
@_RNvCsgbTIekHar5R_1p3ONE = internal global [8 x i8] zeroinitializer, align 4
@_RNvCsgbTIekHar5R_1p3TWO = internal global [8 x i8] zeroinitializer, align 4
define void @_RNvCsgbTIekHar5R_1p7numbers() {
start:
  call void @__crosscut_kernel(i64 17, i32 1, i64 0)
  %y = call ptr @__crosscut_argument_address(i32 0)
  %i = call i64 @__crosscut_global_id(i32 0)
  %one = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p3ONE, i64 4, i64 4, i64 6)
  %two = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p3TWO, i64 4, i64 4, i64 6)
  %old = atomicrmw add ptr %one, i32 1 monotonic, align 4
  %older = atomicrmw add ptr %two, i32 %old monotonic, align 4
  %first = icmp eq i64 %i, 0
  br i1 %first, label %a, label %b

a:
  br label %b

b:
  %n = phi i64 [ xor (i64 ptrtoint (ptr @_RNvCsgbTIekHar5R_1p3ONE to i64), i64 ptrtoint (ptr @_RNvCsgbTIekHar5R_1p3TWO to i64)), %start ], [ add (i64 ptrtoint (ptr @_RNvCsgbTIekHar5R_1p3ONE to i64), i64 4), %a ]
  %to = getelementptr i64, ptr %y, i64 %i
  store i64 %n, ptr %to, align 8
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
declare i64 @__crosscut_global_id(i32)
declare ptr @__crosscut_global_address(ptr, i64, i64, i64)
