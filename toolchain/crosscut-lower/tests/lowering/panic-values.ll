; A panic whose text has two values, as rustc writes it without optimising: the kernel records them, and
; holds neither formatting code nor memory for arguments.
%"core::fmt::rt::Argument<'_>" = type { %"core::fmt::rt::ArgumentType<'_>" }
%"core::fmt::rt::ArgumentType<'_>" = type { ptr, [1 x i64] }

define void @_RNvCsgbTIekHar5R_1p6values() {
start:
  %args = alloca [32 x i8], align 8
  %first = alloca [16 x i8], align 8
  %second = alloca [16 x i8], align 8
  %small = alloca [2 x i8], align 2
  call void @__crosscut_kernel(i64 14, i32 1, i64 0)
  %i = call i64 @__crosscut_global_id(i32 0)
  %x = call ptr @__crosscut_argument_address(i32 0)
  %px = getelementptr inbounds i32, ptr %x, i64 %i
  %v = load i32, ptr %px, align 4
  %low = trunc i32 %v to i16
  store i16 %low, ptr %small, align 2
  %fits = icmp ult i32 %v, 7
  br i1 %fits, label %inside, label %outside

inside:
  store i32 1, ptr %px, align 4
  ret void

outside:
  call void @_RINvMNtNtCsgEmfK2I1SDS_4core3fmt2rtNtB3_8Argument11new_displaysECsgbTIekHar5R_1p(ptr sret([16 x i8]) align 8 %first, ptr align 2 %small)
  call void @_RINvMNtNtCsgEmfK2I1SDS_4core3fmt2rtNtB3_8Argument9new_debugmECsgbTIekHar5R_1p(ptr sret([16 x i8]) align 8 %second, ptr align 4 %px)
  %a0 = getelementptr inbounds nuw %"core::fmt::rt::Argument<'_>", ptr %args, i64 0
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %a0, ptr align 8 %first, i64 16, i1 false)
  %a1 = getelementptr inbounds nuw %"core::fmt::rt::Argument<'_>", ptr %args, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %a1, ptr align 8 %second, i64 16, i1 false)
  %pair = call { ptr, ptr } @_RINvMs2_NtCsgEmfK2I1SDS_4core3fmtNtB6_9Arguments3newKje_Kj2_ECsgbTIekHar5R_1p(ptr align 1 @template, ptr align 8 %args)
  %p0 = extractvalue { ptr, ptr } %pair, 0
  %p1 = extractvalue { ptr, ptr } %pair, 1
  call void @_RNvNtCsgEmfK2I1SDS_4core9panicking9panic_fmt(ptr %p0, ptr %p1, ptr align 8 @place) #0
  unreachable
}

define internal void @_RINvMNtNtCsgEmfK2I1SDS_4core3fmt2rtNtB3_8Argument11new_displaysECsgbTIekHar5R_1p(ptr sret([16 x i8]) align 8 %_0, ptr align 2 %x) {
start:
  store ptr %x, ptr %_0, align 8
  %0 = getelementptr inbounds i8, ptr %_0, i64 8
  store ptr @_RNvXs4_NtNtNtCsgEmfK2I1SDS_4core3fmt3num3impsNtB9_7Display3fmt, ptr %0, align 8
  ret void
}

define internal void @_RINvMNtNtCsgEmfK2I1SDS_4core3fmt2rtNtB3_8Argument9new_debugmECsgbTIekHar5R_1p(ptr sret([16 x i8]) align 8 %_0, ptr align 4 %x) {
start:
  store ptr %x, ptr %_0, align 8
  %0 = getelementptr inbounds i8, ptr %_0, i64 8
  store ptr @_RNvXsW_NtNtCsgEmfK2I1SDS_4core3fmt3nummNtB7_5Debug3fmtCsgbTIekHar5R_1p, ptr %0, align 8
  ret void
}

define internal { ptr, ptr } @_RINvMs2_NtCsgEmfK2I1SDS_4core3fmtNtB6_9Arguments3newKje_Kj2_ECsgbTIekHar5R_1p(ptr align 1 %template, ptr align 8 %args) {
start:
  %0 = insertvalue { ptr, ptr } poison, ptr %template, 0
  %1 = insertvalue { ptr, ptr } %0, ptr %args, 1
  ret { ptr, ptr } %1
}

@template = private unnamed_addr constant [14 x i8] c"\04bad \C0\05 and \C0\00", align 1
@file = private unnamed_addr constant [5 x i8] c"p.rs\00", align 1
@place = private unnamed_addr constant <{ ptr, [16 x i8] }> <{ ptr @file, [16 x i8] c"\04\00\00\00\00\00\00\00\08\00\00\00\09\00\00\00" }>, align 8
declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
declare i64 @__crosscut_global_id(i32)
declare i1 @_RNvXs4_NtNtNtCsgEmfK2I1SDS_4core3fmt3num3impsNtB9_7Display3fmt(ptr, ptr)
declare i1 @_RNvXsW_NtNtCsgEmfK2I1SDS_4core3fmt3nummNtB7_5Debug3fmtCsgbTIekHar5R_1p(ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)
declare void @_RNvNtCsgEmfK2I1SDS_4core9panicking9panic_fmt(ptr, ptr, ptr) #0
attributes #0 = { noreturn }
