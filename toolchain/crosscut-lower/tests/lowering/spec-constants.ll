; Specialization constants become SPIR-V's, one number per piece; a choice between two of them chooses
; between their values.
@TILE = constant <{ [4 x i8] }> <{ [4 x i8] c"\10\00\00\00" }>, align 4
@FLAG = constant <{ [1 x i8] }> zeroinitializer, align 1
@PAIR = constant <{ [10 x i8] }> <{ [10 x i8] c"\01\02\03\04\05\06\07\08\09\0A" }>, align 2

define void @entry() {
start:
  call void @__crosscut_kernel(i64 12, i32 1, i64 0)
  %i = call i64 @__crosscut_global_id(i32 0)
  %address = call ptr @__crosscut_argument_address(i32 0)
  %slot = getelementptr i64, ptr %address, i64 %i
  %flag.default = load i8, ptr @FLAG, align 1
  %flag.preset = zext i8 %flag.default to i64
  %flag = call i64 @__crosscut_spec_constant(ptr @FLAG, i64 0, i32 1, i64 %flag.preset)
  %is = trunc i64 %flag to i1
  br i1 %is, label %tile, label %pair

tile:
  %tile.default = load i32, ptr @TILE, align 4
  %tile.preset = zext i32 %tile.default to i64
  %tile.value = call i64 @__crosscut_spec_constant(ptr @TILE, i64 0, i32 4, i64 %tile.preset)
  br label %end

pair:
  %low.default = load i64, ptr @PAIR, align 2
  %low = call i64 @__crosscut_spec_constant(ptr @PAIR, i64 0, i32 8, i64 %low.default)
  %high.address = getelementptr i8, ptr @PAIR, i64 8
  %high.default = load i16, ptr %high.address, align 2
  %high.preset = zext i16 %high.default to i64
  %high = call i64 @__crosscut_spec_constant(ptr @PAIR, i64 8, i32 2, i64 %high.preset)
  %sum = add i64 %low, %high
  br label %end

end:
  %value = phi i64 [ %tile.value, %tile ], [ %sum, %pair ]
  store i64 %value, ptr %slot, align 8
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare i64 @__crosscut_global_id(i32)
declare ptr @__crosscut_argument_address(i32)
declare i64 @__crosscut_spec_constant(ptr, i64, i32, i64)
