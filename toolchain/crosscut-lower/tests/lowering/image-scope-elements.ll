; Elements of a variable of the image have addresses that are expressions: each atomic of a byte is where it says,
; and so are both words of a number of 128 bits and all pieces of one of 24. Such an address is also kept in one.
@_RNvCsgbTIekHar5R_1p5BYTES = internal global [16 x i8] zeroinitializer, align 4
@_RNvCsgbTIekHar5R_1p4WIDE = internal global [128 x i8] zeroinitializer, align 16
define void @_RNvCsgbTIekHar5R_1p8elements() {
start:
  call void @__crosscut_kernel(i64 16, i32 0, i64 0)
  %y = call ptr @__crosscut_argument_address(i32 0)
  %bytes = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p5BYTES, i64 8, i64 4, i64 7)
  %b1 = getelementptr inbounds i8, ptr %bytes, i64 1
  store atomic i8 7, ptr %b1 monotonic, align 1
  %b2 = getelementptr inbounds i8, ptr %bytes, i64 2
  %old = atomicrmw add ptr %b2, i8 3 monotonic, align 1
  %b3 = getelementptr inbounds i8, ptr %bytes, i64 3
  %pair = cmpxchg ptr %b3, i8 0, i8 %old monotonic monotonic, align 1
  %b6 = getelementptr inbounds i8, ptr %bytes, i64 6
  %two = load atomic i16, ptr %b6 monotonic, align 2
  store i16 %two, ptr %y, align 8
  %wide = call ptr @__crosscut_global_address(ptr @_RNvCsgbTIekHar5R_1p4WIDE, i64 64, i64 16, i64 7)
  %w2 = getelementptr inbounds i8, ptr %wide, i64 32
  %value = load i128, ptr %w2, align 16
  %sum = add i128 %value, 1
  %w1 = getelementptr inbounds i8, ptr %wide, i64 16
  store i128 %sum, ptr %w1, align 16
  %w3 = getelementptr inbounds i8, ptr %wide, i64 48
  %odd = load i24, ptr %w3, align 4
  %next = add i24 %odd, 1
  %w4 = getelementptr inbounds i8, ptr %wide, i64 52
  store i24 %next, ptr %w4, align 4
  %w5 = getelementptr inbounds i8, ptr %wide, i64 56
  %number = ptrtoint ptr %b6 to i64
  store atomic i64 %number, ptr %w5 monotonic, align 8
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
declare ptr @__crosscut_global_address(ptr, i64, i64, i64)
