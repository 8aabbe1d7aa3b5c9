//! The hooks of sub-groups, as [`outline`](super::outline) rewrites them: calls of OpenCL's functions, of
//! which LLVM makes SPIR-V's built-in variables and group instructions.
//!
//! `%v = call i32 @__crosscut_sub_group_shuffle(i32 %x, i32 %from)` becomes
//! `%v = call i32 @_Z17sub_group_shufflejj(i32 %x, i32 %from) convergent`.

use crosscut_image::hooks;

use crate::ir::{Call, Ir};

/// The function by which items take values of others.
const SHUFFLE: &str = "@_Z17sub_group_shufflejj";

/// No sub-group has more items: what is known of each answer beyond its type.
const MOST: u32 = 65_536;

/// OpenCL's functions.
pub(super) const DECLARATIONS: &[&str] = &[
    "declare i32 @_Z22get_sub_group_local_idv() nounwind willreturn memory(none)",
    "declare i32 @_Z18get_sub_group_sizev() nounwind willreturn memory(none)",
    "declare i32 @_Z22get_max_sub_group_sizev() nounwind willreturn memory(none)",
    "declare i32 @_Z16get_sub_group_idv() nounwind willreturn memory(none)",
    "declare i32 @_Z18get_num_sub_groupsv() nounwind willreturn memory(none)",
    "declare i32 @_Z17sub_group_shufflejj(i32, i32) convergent nounwind willreturn memory(inaccessiblemem: readwrite)",
    "declare void @_Z17sub_group_barrierj(i32) convergent nounwind",
];

/// The call that takes the place of a call of `hook`, if that is one of sub-groups.
pub(super) fn call(hook: &str, result: &str, call: &Call<'_>) -> Option<String> {
    let (function, least) = match hook {
        hooks::SUB_GROUP_LOCAL_ID => ("_Z22get_sub_group_local_idv", 0),
        hooks::SUB_GROUP_SIZE => ("_Z18get_sub_group_sizev", 1),
        hooks::SUB_GROUP_MAX_SIZE => ("_Z22get_max_sub_group_sizev", 1),
        hooks::SUB_GROUP_ID => ("_Z16get_sub_group_idv", 0),
        hooks::SUB_GROUP_COUNT => ("_Z18get_num_sub_groupsv", 1),
        hooks::SUB_GROUP_SHUFFLE => {
            let (value, from) = (call.value(0)?, call.value(1)?);
            return Some(format!(
                "  {result} = call i32 {SHUFFLE}(i32 {value}, i32 {from}) convergent"
            ));
        }
        // For local and global memory.
        hooks::SUB_GROUP_BARRIER => {
            return Some("  call void @_Z17sub_group_barrierj(i32 3) convergent".to_owned());
        }
        _ => return None,
    };
    Some(format!("  {result} = call range(i32 {least}, {MOST}) i32 @{function}()"))
}

/// Whether items of a sub-group exchange values.
pub(crate) fn exchanges(ir: &Ir) -> bool {
    ir.find(SHUFFLE).is_some()
}
