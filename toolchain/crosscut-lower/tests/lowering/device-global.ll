; Device globals become parameters, also where one of two is chosen at run time; the sets say which is
; read and which is written.
@_RNvCsgbTIekHar5R_1p3ONE = internal global [8 x i8] zeroinitializer, align 4
@_RNvCsgbTIekHar5R_1p3TWO = internal global [8 x i8] zeroinitializer, align 4
define void @_RNvCsgbTIekHar5R_1p6global() {
start:
  call void @__crosscut_kernel(i64 13, i32 2, i64 0)
  %row = call i64 @__crosscut_global_id(i32 0)
  %column = call i64 @__crosscut_global_id(i32 1)
  %one = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p3ONE, i64 4, i64 4, i64 6)
  %value = load i32, ptr %one, align 4
  %first = icmp eq i64 %row, %column
  %either = select i1 %first, ptr @_RNvCsgbTIekHar5R_1p3ONE, ptr @_RNvCsgbTIekHar5R_1p3TWO
  %chosen = call ptr @__crosscut_global_address(ptr %either, i64 4, i64 4, i64 6)
  %old = atomicrmw add ptr %chosen, i32 %value monotonic, align 4
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare i64 @__crosscut_global_id(i32)
declare ptr @__crosscut_global_address(ptr, i64, i64, i64)
