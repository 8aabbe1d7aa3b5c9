; A constant that holds device globals holds their numbers, and the number that an item finds is made an
; address. What else the constant holds stays.
@A = global <{ [4 x i8], [4 x i8] }> zeroinitializer, align 4
@B = global <{ [4 x i8], [4 x i8] }> zeroinitializer, align 4
@table = private unnamed_addr constant <{ ptr, [8 x i8], ptr, [8 x i8] }> <{ ptr @A, [8 x i8] c"\01\00\00\00\00\00\00\00", ptr @B, [8 x i8] c"\02\00\00\00\00\00\00\00" }>, align 8
define void @_RNvCsgbTIekHar5R_1p5table() {
start:
  call void @__crosscut_kernel(i64 16, i32 1, i64 0)
  %i = call i64 @__crosscut_global_id(i32 0)
  %last = and i64 %i, 1
  %row = getelementptr inbounds { ptr, i64 }, ptr @table, i64 %last
  %found = load ptr, ptr %row, align 8, !nonnull !0, !align !1
  %at = getelementptr inbounds i8, ptr %row, i64 8
  %weight = load i32, ptr %at, align 8
  %global = call ptr @__crosscut_global_address(ptr %found, i64 4, i64 4, i64 6)
  %old = atomicrmw add ptr %global, i32 %weight monotonic, align 4
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare i64 @__crosscut_global_id(i32)
declare ptr @__crosscut_global_address(ptr, i64, i64, i64)

!0 = !{}
!1 = !{i64 4}
