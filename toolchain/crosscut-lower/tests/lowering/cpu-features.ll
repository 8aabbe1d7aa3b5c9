; On a device no feature of the host's CPU is there: the way that needs none is taken, and the other one,
; which nobody could link, is gone.
define void @entry() {
start:
  call void @__crosscut_kernel(i64 13, i32 1, i64 0)
  %i = call i64 @__crosscut_global_id(i32 0)
  %address = call ptr @__crosscut_argument_address(i32 0)
  %slot = getelementptr i64, ptr %address, i64 %i
  %has = call zeroext i1 @_RNvNtNtNtCs1_10std_detect6detect4arch21___is_feature_detected4f16c()
  br i1 %has, label %fast, label %slow

fast:
  %asked = call i64 @only_this_cpu(i64 %i)
  br label %end

slow:
  %plain = mul i64 %i, 3
  br label %end

end:
  %value = phi i64 [ %asked, %fast ], [ %plain, %slow ]
  store i64 %value, ptr %slot, align 8
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare i64 @__crosscut_global_id(i32)
declare ptr @__crosscut_argument_address(i32)
declare zeroext i1 @_RNvNtNtNtCs1_10std_detect6detect4arch21___is_feature_detected4f16c()
declare i64 @only_this_cpu(i64)
