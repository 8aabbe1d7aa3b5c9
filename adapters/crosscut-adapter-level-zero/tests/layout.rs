//! The vendor's types as its headers have them, where those and a C compiler are installed.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::io::Write;
use std::mem::offset_of;
use std::process::{Command, Stdio};

use crosscut_adapter_level_zero::abi::*;

const HEADER: &str = "/usr/include/level_zero/ze_api.h";

/// A name in C, and the number that it stands for here.
type Fact = (String, u64);

/// Sizes and offsets of structures.
macro_rules! facts {
    ($($name:ident { $($field:ident),* $(,)? })*) => {{
        let mut facts: Vec<Fact> = Vec::new();
        $(
            facts.push((format!("sizeof({})", stringify!($name)), size_of::<$name>() as u64));
            $(
                let at = offset_of!($name, $field) as u64;
                let field = stringify!($field).trim_start_matches("r#");
                facts.push((format!("offsetof({}, {field})", stringify!($name)), at));
            )*
        )*
        facts
    }};
}

/// Numbers.
macro_rules! numbers {
    ($($name:ident)*) => { vec![$((stringify!($name).to_owned(), u64::from($name)),)*] };
}

fn facts() -> Vec<Fact> {
    let mut facts = facts! {
        ze_driver_properties_t { pNext, uuid, driverVersion }
        ze_device_properties_t {
            pNext, r#type, vendorId, maxMemAllocSize, numEUsPerSubslice, numSubslicesPerSlice,
            numSlices, timerResolution, timestampValidBits, kernelTimestampValidBits, uuid, name,
        }
        ze_device_compute_properties_t {
            maxTotalGroupSize, maxGroupSizeX, maxSharedLocalMemory, numSubGroupSizes, subGroupSizes,
        }
        ze_device_module_properties_t {
            spirvVersionSupported, flags, fp32flags, maxArgumentsSize, nativeKernelSupported,
        }
        ze_command_queue_group_properties_t { flags, maxMemoryFillPatternSize, numQueues }
        ze_device_memory_properties_t { totalSize, name }
        ze_device_memory_access_properties_t {
            hostAllocCapabilities, sharedSingleDeviceAllocCapabilities,
            sharedSystemAllocCapabilities,
        }
        ze_context_desc_t { pNext, flags }
        ze_command_queue_desc_t { ordinal, index, flags, mode, priority }
        ze_event_pool_desc_t { flags, count }
        ze_event_desc_t { index, signal, wait }
        ze_device_mem_alloc_desc_t { flags, ordinal }
        ze_host_mem_alloc_desc_t { flags }
        ze_module_desc_t { format, inputSize, pInputModule, pBuildFlags, pConstants }
        ze_module_properties_t { flags }
        ze_kernel_desc_t { flags, pKernelName }
        ze_kernel_properties_t { numKernelArgs, requiredGroupSizeX, requiredGroupSizeZ, uuid }
        ze_float_atomic_ext_properties_t { fp16Flags, fp32Flags, fp64Flags }
        ze_driver_extension_properties_t { name, version }
        ze_kernel_timestamp_data_t { kernelStart, kernelEnd }
        ze_kernel_timestamp_result_t { global, context }
        ze_group_count_t { groupCountX, groupCountY, groupCountZ }
    };
    facts.extend(numbers! {
        ZE_RESULT_NOT_READY ZE_RESULT_ERROR_DEVICE_LOST ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
        ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
        ZE_RESULT_ERROR_MODULE_LINK_FAILURE ZE_RESULT_ERROR_UNINITIALIZED
        ZE_RESULT_ERROR_UNSUPPORTED_VERSION ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
        ZE_RESULT_ERROR_INVALID_ARGUMENT ZE_RESULT_ERROR_UNSUPPORTED_SIZE
        ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
        ZE_RESULT_ERROR_INVALID_GLOBAL_NAME ZE_RESULT_ERROR_INVALID_KERNEL_NAME
        ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED ZE_RESULT_ERROR_UNKNOWN
        ZE_DEVICE_TYPE_GPU ZE_DEVICE_TYPE_CPU ZE_DEVICE_MODULE_FLAG_FP16 ZE_DEVICE_MODULE_FLAG_FP64
        ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT
        ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX
        ZE_MEMORY_ACCESS_CAP_FLAG_RW ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE
        ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS
        ZE_EVENT_POOL_FLAG_HOST_VISIBLE ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP
        ZE_EVENT_SCOPE_FLAG_DEVICE ZE_EVENT_SCOPE_FLAG_HOST ZE_MODULE_FORMAT_IL_SPIRV
        ZE_MODULE_FORMAT_NATIVE ZE_MODULE_PROPERTY_FLAG_IMPORTS
        ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE
        ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED
    });
    facts
}

fn stypes() -> Vec<Fact> {
    macro_rules! stypes {
        ($($c:ident $name:ident)*) => {
            vec![$((stringify!($c).to_owned(), u64::from($name::STYPE)),)*]
        };
    }
    stypes! {
        ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES ze_driver_properties_t
        ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES ze_device_properties_t
        ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES ze_device_compute_properties_t
        ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES ze_device_module_properties_t
        ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES ze_command_queue_group_properties_t
        ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES ze_device_memory_properties_t
        ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES ze_device_memory_access_properties_t
        ZE_STRUCTURE_TYPE_CONTEXT_DESC ze_context_desc_t
        ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC ze_command_queue_desc_t
        ZE_STRUCTURE_TYPE_EVENT_POOL_DESC ze_event_pool_desc_t
        ZE_STRUCTURE_TYPE_EVENT_DESC ze_event_desc_t
        ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC ze_device_mem_alloc_desc_t
        ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC ze_host_mem_alloc_desc_t
        ZE_STRUCTURE_TYPE_MODULE_DESC ze_module_desc_t
        ZE_STRUCTURE_TYPE_MODULE_PROPERTIES ze_module_properties_t
        ZE_STRUCTURE_TYPE_KERNEL_DESC ze_kernel_desc_t
        ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES ze_kernel_properties_t
        ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES ze_float_atomic_ext_properties_t
    }
}

/// C that compiles where all facts are true.
fn as_c(facts: &[Fact]) -> String {
    let line =
        |(name, number): &Fact| format!("_Static_assert({name} == {number}ULL, \"{name}\");\n");
    let lines: String = facts.iter().map(line).collect();
    format!("#include <stddef.h>\n#include <level_zero/ze_api.h>\n{lines}")
}

/// Whether a C compiler takes it; `None` if there is none.
fn compiles(source: &str) -> Option<bool> {
    let mut compiler = Command::new("cc")
        .args(["-x", "c", "-fsyntax-only", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .ok()?;
    compiler.stdin.take()?.write_all(source.as_bytes()).ok()?;
    Some(compiler.wait().ok()?.success())
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that could not run says so")]
fn types_and_numbers_are_those_of_the_vendor_s_header() {
    let all = [facts(), stypes()].concat();
    if !std::path::Path::new(HEADER).exists() {
        eprintln!("not run: there is no {HEADER} (Debian: libze-dev)");
        return;
    }
    match compiles(&as_c(&all)) {
        None => eprintln!("not run: there is no C compiler"),
        Some(all_true) => assert!(all_true, "the compiler above names those that are not"),
    }
}
