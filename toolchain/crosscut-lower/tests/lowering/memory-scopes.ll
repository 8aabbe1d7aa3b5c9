; Atomics have the device's scope, or the one that the program asks for; the system's is LLVM's own.
define void @entry() {
start:
  call void @__crosscut_kernel(i64 14, i32 1, i64 0)
  %address = call ptr @__crosscut_argument_address(i32 0)
  %plain = atomicrmw add ptr %address, i32 1 monotonic, align 4
  call void @__crosscut_scope_begin(i32 0)
  %sub = atomicrmw or ptr %address, i32 4 acquire, align 4
  call void @__crosscut_scope_end()
  call void @__crosscut_scope_begin(i32 1)
  %group = atomicrmw add ptr %address, i32 2 acq_rel, align 4
  fence seq_cst
  call void @__crosscut_scope_begin(i32 3)
  %all = atomicrmw add ptr %address, i32 3 seq_cst, align 4
  %byte = atomicrmw add ptr %address, i8 3 acq_rel, align 1
  call void @__crosscut_scope_end()
  %more = icmp ugt i32 %group, 9
  br i1 %more, label %large, label %end

large:
  store atomic i16 5, ptr %address release, align 2
  store atomic i16 6, ptr %address monotonic, align 2
  store atomic i32 5, ptr %address release, align 4
  br label %end

end:
  call void @__crosscut_scope_end()
  %last = atomicrmw xchg ptr %address, i32 %all monotonic, align 4
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
declare void @__crosscut_scope_begin(i32)
declare void @__crosscut_scope_end()
