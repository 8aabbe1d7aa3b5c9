; Intrinsics on integers of odd widths, and memory for one, become those of widths that SPIR-V has.
define void @_RNvCsgbTIekHar5R_1p3odd() {
start:
  call void @__crosscut_kernel(i64 15, i32 0, i64 0)
  %y = call ptr @__crosscut_argument_address(i32 0)
  %a = load i64, ptr %y, align 8
  %three = trunc i64 %a to i3
  %reversed = call i3 @llvm.bitreverse.i3(i3 %three)
  %r = zext i3 %reversed to i64
  store i64 %r, ptr %y, align 8
  %p1 = getelementptr inbounds i64, ptr %y, i64 1
  %b = load i64, ptr %p1, align 8
  %some = trunc i64 %b to i24
  %zeros = call i24 @llvm.cttz.i24(i24 %some, i1 false)
  %z = zext i24 %zeros to i64
  store i64 %z, ptr %p1, align 8
  %p2 = getelementptr inbounds i64, ptr %y, i64 2
  %c = load i64, ptr %p2, align 8
  %other = trunc i64 %c to i24
  %left = call i24 @llvm.ssub.sat.i24(i24 %some, i24 %other)
  %turned = call i24 @llvm.fshl.i24(i24 %left, i24 %other, i24 %some)
  %t = sext i24 %turned to i64
  store i64 %t, ptr %p2, align 8
  %m = alloca i56, align 8
  %seven = trunc i64 %c to i56
  store i56 %seven, ptr %m, align 8
  %at = urem i64 %a, 7
  %p = getelementptr inbounds i8, ptr %m, i64 %at
  %byte = load i8, ptr %p, align 1
  %p3 = getelementptr inbounds i64, ptr %y, i64 3
  store i8 %byte, ptr %p3, align 8
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
declare i3 @llvm.bitreverse.i3(i3)
declare i24 @llvm.cttz.i24(i24, i1)
declare i24 @llvm.ssub.sat.i24(i24, i24)
declare i24 @llvm.fshl.i24(i24, i24, i24)
