; A barrier between two branches on one condition stays one: copied into both branches of a divergent
; condition it would hang or tear the work-group apart.
define void @_RNvCsgbTIekHar5R_1p7barrier() {
start:
  call void @__crosscut_kernel(i64 12, i32 1, i64 0)
  %i = call i64 @__crosscut_global_id(i32 0)
  %y = call ptr @__crosscut_argument_address(i32 0)
  %p = getelementptr inbounds i32, ptr %y, i64 %i
  %odd = trunc i64 %i to i1
  br i1 %odd, label %first, label %wait

first:
  store i32 1, ptr %p, align 4
  br label %wait

wait:
  call void asm sideeffect "", ""()
  call void @__crosscut_barrier()
  call void asm sideeffect "", ""()
  br i1 %odd, label %second, label %end

second:
  %v = load i32, ptr %p, align 4
  %w = add i32 %v, 41
  store i32 %w, ptr %p, align 4
  br label %end

end:
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
declare i64 @__crosscut_global_id(i32)
declare void @__crosscut_barrier()
