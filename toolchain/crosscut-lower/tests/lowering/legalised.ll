; Checked arithmetic, three-way comparison, a byte's atomic, a fused product and a conversion with limits become plain code.
define void @_RNvCsgbTIekHar5R_1p5legal() {
start:
  call void @__crosscut_kernel(i64 14, i32 0, i64 0)
  %y = call ptr @__crosscut_argument_address(i32 0)
  %a = load i64, ptr %y, align 8
  %pb = getelementptr inbounds i64, ptr %y, i64 1
  %b = load i64, ptr %pb, align 8
  %pair = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %a, i64 %b)
  %product = extractvalue { i64, i1 } %pair, 0
  %over = extractvalue { i64, i1 } %pair, 1
  %one = zext i1 %over to i64
  %sum = add i64 %product, %one
  store i64 %sum, ptr %y, align 8
  %order = call i8 @llvm.ucmp.i8.i64(i64 %a, i64 %b)
  %wide = sext i8 %order to i64
  store i64 %wide, ptr %pb, align 8
  %pc = getelementptr inbounds i64, ptr %y, i64 2
  %old = atomicrmw add ptr %pc, i8 1 seq_cst, align 1
  %pf = getelementptr inbounds i64, ptr %y, i64 3
  %f = load float, ptr %pf, align 4
  %g = call float @llvm.fmuladd.f32(float %f, float %f, float %f)
  store float %g, ptr %pf, align 4
  %pi = getelementptr inbounds i64, ptr %y, i64 4
  %i = call i32 @llvm.fptoui.sat.i32.f32(float %f)
  store i32 %i, ptr %pi, align 4
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
declare i8 @llvm.ucmp.i8.i64(i64, i64)
declare float @llvm.fmuladd.f32(float, float, float)
declare i32 @llvm.fptoui.sat.i32.f32(float)
