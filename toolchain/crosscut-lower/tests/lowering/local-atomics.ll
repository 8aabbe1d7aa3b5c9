; Relaxed atomics of a work-group's own memory reach that work-group, also those of bytes, which change the word around them.
define void @entry() {
start:
  call void @__crosscut_kernel(i64 15, i32 1, i64 0)
  %tile = call ptr @__crosscut_local_address(i32 0)
  %out = call ptr @__crosscut_argument_address(i32 1)
  %word = atomicrmw add ptr %tile, i32 1 monotonic, align 4
  %ordered = atomicrmw add ptr %tile, i32 2 release, align 4
  %byte = atomicrmw add ptr %tile, i8 3 monotonic, align 1
  call void @__crosscut_scope_begin(i32 0)
  %short = atomicrmw or ptr %tile, i16 4 monotonic, align 2
  call void @__crosscut_scope_end()
  %sum = add i32 %word, %ordered
  %all = atomicrmw add ptr %out, i32 %sum monotonic, align 4
  ret void
}

declare void @__crosscut_kernel(i64, i32, i64)
declare ptr @__crosscut_argument_address(i32)
declare ptr @__crosscut_local_address(i32)
declare void @__crosscut_scope_begin(i32)
declare void @__crosscut_scope_end()
