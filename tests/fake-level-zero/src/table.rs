//! The tables that the loader asks for: the driver's entry points, in the order of Level Zero's headers.

use std::ffi::c_void;

use crosscut_adapter_level_zero::abi::{
    Status, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, ZE_RESULT_ERROR_UNSUPPORTED_VERSION,
    ZE_RESULT_SUCCESS,
};

use crate::checked::answer;
use crate::{driver, event, kernel, list, memory, module};

/// The version whose tables these are: 1.4. Later ones are longer, and begin the same.
pub(crate) const VERSION: u32 = 1 << 16 | 4;

/// What there is no function for here.
extern "C" fn no() -> Status {
    ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
}

/// Fills a table, if its version is one that we know.
fn fill(call: &str, version: u32, table: *mut *const c_void, entries: &[*const c_void]) -> Status {
    if version >> 16 != VERSION >> 16 || version < VERSION {
        return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    }
    for (at, entry) in entries.iter().enumerate() {
        answer(call, table.wrapping_add(at), *entry);
    }
    ZE_RESULT_SUCCESS
}

/// Tables of functions, `no` for those that are not here.
macro_rules! tables {
    ($($table:ident { $($entry:expr),* $(,)? })*) => {$(
        /// Fills the loader's table of that name.
        // SAFETY: no other library of the process has a function of this name to confuse it with: the
        // loader takes it from this one by its handle.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $table(version: u32, table: *mut *const c_void) -> Status {
            fill(stringify!($table), version, table, &[$($entry as *const c_void),*])
        }
    )*};
}

/// Tables of so many functions, none of which are here. The loader asks for them all the same.
macro_rules! empty_tables {
    ($($table:ident $length:literal)*) => {$(
        /// Fills the loader's table of that name.
        // SAFETY: as for the others.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $table(version: u32, table: *mut *const c_void) -> Status {
            fill(stringify!($table), version, table, &[no as *const c_void; $length])
        }
    )*};
}

tables! {
    zeGetGlobalProcAddrTable { driver::init }
    zeGetDriverProcAddrTable {
        driver::driver_get, driver::driver_get_api_version, driver::driver_get_properties, no,
        driver::driver_get_extension_properties, no,
    }
    zeGetDeviceProcAddrTable {
        driver::device_get, no, driver::device_get_properties,
        driver::device_get_compute_properties, driver::device_get_module_properties,
        driver::device_get_command_queue_group_properties, driver::device_get_memory_properties,
        driver::device_get_memory_access_properties, no, no, no, no, no, driver::device_get_status,
        driver::device_get_global_timestamps, no, no, no,
    }
    zeGetDeviceExpProcAddrTable { no }
    zeGetContextProcAddrTable {
        driver::context_create, driver::context_destroy, no, no, no, no, no, no, no,
    }
    zeGetCommandQueueProcAddrTable { no, no, no, no }
    zeGetCommandListProcAddrTable {
        no, list::create_immediate, list::destroy, no, no, no, list::append_barrier, no,
        list::append_memory_copy, list::append_memory_fill, no, no, no, no, no, no, no, no, no, no,
        no, no, list::append_launch_kernel, no, no, no, no, no,
    }
    zeGetImageProcAddrTable { no, no, no, no }
    zeGetImageExpProcAddrTable { no, no }
    zeGetFenceProcAddrTable { no, no, no, no, no }
    zeGetEventPoolProcAddrTable { event::pool_create, event::pool_destroy, no, no, no }
    zeGetEventProcAddrTable {
        event::create, event::destroy, event::host_signal, event::host_synchronize,
        event::query_status, event::host_reset, event::query_kernel_timestamp,
    }
    zeGetEventExpProcAddrTable { no }
    zeGetModuleProcAddrTable {
        module::create, module::destroy, module::dynamic_link, module::get_native_binary,
        module::get_global_pointer, no, module::get_properties, no, no,
    }
    zeGetModuleBuildLogProcAddrTable { module::log_destroy, module::log_get_string }
    zeGetKernelProcAddrTable {
        kernel::create, kernel::destroy, no, kernel::set_group_size, kernel::suggest_group_size, no,
        kernel::set_argument_value, kernel::set_indirect_access, no, no, kernel::get_properties, no,
    }
    zeGetKernelExpProcAddrTable { no, no }
    zeGetSamplerProcAddrTable { no, no }
    zeGetPhysicalMemProcAddrTable { no, no }
    zeGetMemProcAddrTable {
        memory::alloc_shared, memory::alloc_device, memory::alloc_host, memory::free, no, no, no,
        no, no, no,
    }
    zeGetVirtualMemProcAddrTable { no, no, no, no, no, no, no }
    zeGetFabricVertexExpProcAddrTable { no, no, no, no }
    zeGetFabricEdgeExpProcAddrTable { no, no, no }
}

// Tools and system management.
empty_tables! {
    zetGetDeviceProcAddrTable 1
    zetGetContextProcAddrTable 1
    zetGetCommandListProcAddrTable 4
    zetGetModuleProcAddrTable 1
    zetGetKernelProcAddrTable 1
    zetGetMetricGroupProcAddrTable 3
    zetGetMetricGroupExpProcAddrTable 1
    zetGetMetricProcAddrTable 2
    zetGetMetricStreamerProcAddrTable 3
    zetGetMetricQueryPoolProcAddrTable 2
    zetGetMetricQueryProcAddrTable 4
    zetGetTracerExpProcAddrTable 5
    zetGetDebugProcAddrTable 11
    zesGetDriverProcAddrTable 2
    zesGetDeviceProcAddrTable 29
    zesGetSchedulerProcAddrTable 8
    zesGetPerformanceFactorProcAddrTable 3
    zesGetPowerProcAddrTable 8
    zesGetFrequencyProcAddrTable 17
    zesGetEngineProcAddrTable 2
    zesGetStandbyProcAddrTable 3
    zesGetFirmwareProcAddrTable 2
    zesGetMemoryProcAddrTable 3
    zesGetFabricPortProcAddrTable 6
    zesGetTemperatureProcAddrTable 4
    zesGetPsuProcAddrTable 2
    zesGetFanProcAddrTable 6
    zesGetLedProcAddrTable 4
    zesGetRasProcAddrTable 4
    zesGetDiagnosticsProcAddrTable 3
}
