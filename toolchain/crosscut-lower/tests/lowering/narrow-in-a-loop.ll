; Where an atomic of 16 bits lies in its word is counted in 64 bits, in loops too: LLVM's back end would count in two
; bits, of which SPIR-V has none.
@_RNvCsgbTIekHar5R_1p5PAIRS = internal global [256 x i8] zeroinitializer, align 2
@_RNvCsgbTIekHar5R_1p3SUM = internal global [16 x i8] zeroinitializer, align 8
define void @_RNvCsgbTIekHar5R_1p4sums() {
start:
  call void @__crosscut_kernel(i64 13, i32 1, i64 0)
  %pairs = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p5PAIRS, i64 128, i64 2, i64 6)
  %sum = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p3SUM, i64 8, i64 8, i64 6)
  br label %loop

loop:
  %n = phi i64 [ 0, %start ], [ %next, %loop ]
  %so.far = phi i64 [ 0, %start ], [ %mixed, %loop ]
  %place = getelementptr inbounds nuw i16, ptr %pairs, i64 %n
  %value = load atomic i16, ptr %place monotonic, align 2
  %wide = zext i16 %value to i64
  %thrice = mul i64 %so.far, 3
  %mixed = xor i64 %thrice, %wide
  %next = add nuw nsw i64 %n, 1
  %done = icmp eq i64 %next, 64
  br i1 %done, label %end, label %loop

end:
  store i64 %mixed, ptr %sum, align 8
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_global_address(ptr, i64, i64, i64)
