; A one-dimensional kernel that checks its index gets two bodies: one for ranges that fit.
define void @_RNvCsgbTIekHar5R_1p5saxpy() {
start:
  call void @__crosscut_kernel(i64 11, i32 1, i64 4)
  %captures = call ptr @__crosscut_captures()
  %a = load float, ptr %captures, align 4
  %i = call i64 @__crosscut_global_id(i32 0)
  %x = call ptr @__crosscut_read_argument_address(i32 0)
  %n = call i64 @__crosscut_argument_length(i32 0)
  %y = call ptr @__crosscut_argument_address(i32 1)
  %fits = icmp ult i64 %i, %n
  br i1 %fits, label %inside, label %outside

inside:
  %px = getelementptr inbounds float, ptr %x, i64 %i
  %vx = load float, ptr %px, align 4
  %py = getelementptr inbounds float, ptr %y, i64 %i
  %vy = load float, ptr %py, align 4
  %product = fmul float %a, %vx
  %sum = fadd float %vy, %product
  store float %sum, ptr %py, align 4
  ret void

outside:
  call void @_RNvNtCsgEmfK2I1SDS_4core9panicking18panic_bounds_check(i64 %i, i64 %n, ptr @place) #0
  unreachable
}

@file = private unnamed_addr constant [5 x i8] c"p.rs\00", align 1
@place = private unnamed_addr constant <{ ptr, [16 x i8] }> <{ ptr @file, [16 x i8] c"\04\00\00\00\00\00\00\00\08\00\00\00\09\00\00\00" }>, align 8
declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_captures()
declare ptr @__crosscut_argument_address(i32)
declare ptr @__crosscut_read_argument_address(i32)
declare i64 @__crosscut_argument_length(i32)
declare i64 @__crosscut_global_id(i32)
declare void @_RNvNtCsgEmfK2I1SDS_4core9panicking18panic_bounds_check(i64, i64, ptr) #0
attributes #0 = { noreturn }
