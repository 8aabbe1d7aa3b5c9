; Items of a sub-group exchange values by SPIR-V's own instruction, and the exchange between two branches
; on one condition stays one: copied into both, it would be between other items.
define void @entry() {
start:
  call void @__crosscut_kernel(i64 16, i32 1, i64 0)
  %i = call i64 @__crosscut_global_id(i32 0)
  %y = call ptr @__crosscut_argument_address(i32 0)
  %p = getelementptr inbounds i32, ptr %y, i64 %i
  %own = call i32 @__crosscut_sub_group_local_id()
  %size = call i32 @__crosscut_sub_group_size()
  %odd = trunc i32 %own to i1
  br i1 %odd, label %first, label %meet

first:
  store i32 %size, ptr %p, align 4
  br label %meet

meet:
  %value = phi i32 [ %own, %start ], [ 7, %first ]
  %beside = xor i32 %own, 1
  %found = call i32 @__crosscut_sub_group_shuffle(i32 %value, i32 %beside)
  call void @__crosscut_sub_group_barrier()
  br i1 %odd, label %second, label %end

second:
  store i32 %found, ptr %p, align 4
  br label %end

end:
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare i64 @__crosscut_global_id(i32)
declare ptr @__crosscut_argument_address(i32)
declare i32 @__crosscut_sub_group_local_id()
declare i32 @__crosscut_sub_group_size()
declare i32 @__crosscut_sub_group_shuffle(i32, i32)
declare void @__crosscut_sub_group_barrier()
