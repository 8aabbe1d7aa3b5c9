; A switch over a number of 128 bits is one over the number of the case: all ways stay as they are, also where two
; cases lead to one place.
define void @_RNvCsgbTIekHar5R_1p7choices() {
start:
  call void @__crosscut_kernel(i64 18, i32 0, i64 0)
  %y = call ptr @__crosscut_argument_address(i32 0)
  %a = load i128, ptr %y, align 16
  %pb = getelementptr inbounds i8, ptr %y, i64 16
  switch i128 %a, label %end [
    i128 3, label %one
    i128 1000, label %two
    i128 36893488147419103235, label %one
    i128 -1, label %two
  ]

one:
  %old = atomicrmw add ptr %pb, i32 1 monotonic, align 4
  br label %two

two:
  %f = phi i32 [ 7, %start ], [ 7, %start ], [ %old, %one ]
  store i32 %f, ptr %y, align 16
  br label %end

end:
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
