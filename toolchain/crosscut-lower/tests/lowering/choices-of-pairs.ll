; Choices between the answers of checked arithmetic, by the way and by a condition, are choices between their fields.
define void @_RNvCsgbTIekHar5R_1p7choices() {
start:
  call void @__crosscut_kernel(i64 17, i32 0, i64 0)
  %y = call ptr @__crosscut_argument_address(i32 0)
  %a = load i128, ptr %y, align 16
  %pb = getelementptr inbounds i128, ptr %y, i64 1
  %b = load i128, ptr %pb, align 16
  %pc = getelementptr inbounds i128, ptr %y, i64 2
  %c = load i8, ptr %pc, align 16
  %adds = icmp eq i8 %c, 0
  br i1 %adds, label %add, label %sub

add:
  %sum = call { i128, i1 } @llvm.sadd.with.overflow.i128(i128 %a, i128 %b)
  br label %both

sub:
  %difference = call { i128, i1 } @llvm.ssub.with.overflow.i128(i128 %a, i128 %b)
  br label %both

both:
  %pair = phi { i128, i1 } [ %sum, %add ], [ %difference, %sub ]
  %over = extractvalue { i128, i1 } %pair, 1
  br i1 %over, label %end, label %store

store:
  %value = extractvalue { i128, i1 } %pair, 0
  store i128 %value, ptr %y, align 16
  %m = load i64, ptr %pb, align 16
  %n = load i64, ptr %y, align 16
  %up = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %m, i64 %n)
  %down = call { i64, i1 } @llvm.usub.with.overflow.i64(i64 %m, i64 %n)
  %other = select i1 %adds, { i64, i1 } %down, { i64, i1 } %up
  %beyond = extractvalue { i64, i1 } %other, 1
  br i1 %beyond, label %end, label %write

write:
  %word = extractvalue { i64, i1 } %other, 0
  store i64 %word, ptr %pb, align 16
  br label %end

end:
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
declare { i128, i1 } @llvm.sadd.with.overflow.i128(i128, i128)
declare { i128, i1 } @llvm.ssub.with.overflow.i128(i128, i128)
declare { i64, i1 } @llvm.uadd.with.overflow.i64(i64, i64)
declare { i64, i1 } @llvm.usub.with.overflow.i64(i64, i64)
