; A stack slot stays private, a constant table lies in global memory, and an index into the first meets
; an index into the second.
@table = private unnamed_addr constant [4 x i32] [i32 7, i32 5, i32 3, i32 2], align 4
define void @_RNvCsgbTIekHar5R_1p5stack() {
start:
  %slots = alloca [4 x i32], align 4
  call void @__crosscut_kernel(i64 15, i32 1, i64 0)
  %i = call i64 @__crosscut_global_id(i32 0)
  %y = call ptr @__crosscut_argument_address(i32 0)
  %p = getelementptr inbounds i32, ptr %y, i64 %i
  %v = load i32, ptr %p, align 4
  %last = and i32 %v, 3
  %at = zext i32 %last to i64
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %slots, ptr align 4 @table, i64 16, i1 false)
  %slot = getelementptr inbounds i32, ptr %slots, i64 %at
  store i32 %v, ptr %slot, align 4
  %next = xor i64 %at, 1
  %own = getelementptr inbounds i32, ptr %slots, i64 %next
  %of_table = getelementptr inbounds i32, ptr @table, i64 %at
  %a = load i32, ptr %own, align 4
  %b = load i32, ptr %of_table, align 4
  %s = add i32 %a, %b
  store i32 %s, ptr %p, align 4
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
declare i64 @__crosscut_global_id(i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
