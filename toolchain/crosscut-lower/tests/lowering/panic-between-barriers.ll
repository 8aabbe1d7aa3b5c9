; A loop with two barriers and a panic after the second: an item that panics goes on to the next barrier
; that the others come to, and there the whole group ends.
define void @_RNvCsgbTIekHar5R_1p5rounds() {
start:
  call void @__crosscut_kernel(i64 13, i32 1, i64 0)
  %i = call i64 @__crosscut_local_id(i32 0)
  %g = call i64 @__crosscut_global_id(i32 0)
  %x = call ptr @__crosscut_read_argument_address(i32 0)
  %n = call i64 @__crosscut_argument_length(i32 0)
  %y = call ptr @__crosscut_argument_address(i32 1)
  %tile = call ptr @__crosscut_local_address(i32 2)
  %own = getelementptr inbounds i32, ptr %tile, i64 %i
  %other = xor i64 %i, 1
  %next = getelementptr inbounds i32, ptr %tile, i64 %other
  br label %round

round:
  %t = phi i64 [ 0, %start ], [ %t1, %inside ]
  %v = phi i32 [ 1, %start ], [ %w, %inside ]
  call void asm sideeffect "", ""()
  call void @__crosscut_barrier()
  call void asm sideeffect "", ""()
  store i32 %v, ptr %own, align 4
  call void asm sideeffect "", ""()
  call void @__crosscut_barrier()
  call void asm sideeffect "", ""()
  %u = load i32, ptr %next, align 4
  %wide = zext i32 %u to i64
  %fits = icmp ult i64 %wide, %n
  br i1 %fits, label %inside, label %outside

inside:
  %px = getelementptr inbounds i32, ptr %x, i64 %wide
  %vx = load i32, ptr %px, align 4
  %w = add i32 %v, %vx
  %t1 = add i64 %t, 1
  %more = icmp ult i64 %t1, %n
  br i1 %more, label %round, label %end

end:
  %py = getelementptr inbounds i32, ptr %y, i64 %g
  store i32 %w, ptr %py, align 4
  ret void

outside:
  call void @_RNvNtCsgEmfK2I1SDS_4core9panicking18panic_bounds_check(i64 %wide, i64 %n, ptr @place) #0
  unreachable
}

@file = private unnamed_addr constant [5 x i8] c"p.rs\00", align 1
@place = private unnamed_addr constant <{ ptr, [16 x i8] }> <{ ptr @file, [16 x i8] c"\04\00\00\00\00\00\00\00\08\00\00\00\09\00\00\00" }>, align 8
declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
declare ptr @__crosscut_read_argument_address(i32)
declare ptr @__crosscut_local_address(i32)
declare i64 @__crosscut_argument_length(i32)
declare i64 @__crosscut_global_id(i32)
declare i64 @__crosscut_local_id(i32)
declare void @__crosscut_barrier()
declare void @_RNvNtCsgEmfK2I1SDS_4core9panicking18panic_bounds_check(i64, i64, ptr) #0
attributes #0 = { noreturn }
