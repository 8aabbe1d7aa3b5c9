//! The entry points, under CUDA's names.

#![allow(non_snake_case, reason = "the vendor's spelling")]
#![allow(clippy::too_many_arguments, reason = "the vendor's signatures")]

use std::ffi::{c_char, c_void};

use crosscut_adapter_cuda::abi::{
    Attribute, DeviceNumber, DevicePointer, Handle, JitOption, Status,
};

use crate::module::{Input, Sizes};
use crate::{context, driver, event, memory, module, stream};

/// Entry points: each is told its own name, for what it says about wrong calls.
macro_rules! entry_points {
    ($(fn $name:ident($call:ident $(, $argument:ident: $type:ty)* $(,)?) $body:expr;)*) => {$(
        /// CUDA's function of that name.
        // SAFETY: no other library of the process has a function of this name to confuse it with: who
        // wants it takes it from this one by its handle.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name($($argument: $type),*) -> Status {
            let $call = stringify!($name);
            if $call != "cuInit" {
                driver::initialised($call);
            }
            $body.err().unwrap_or(0)
        }
    )*};
}

type Place<T> = *mut T;
type Values = *mut *mut c_void;

entry_points! {
    fn cuInit(call, flags: u32) driver::init(call, flags);
    fn cuDriverGetVersion(call, to: Place<i32>) driver::version(call, to);
    fn cuGetErrorName(call, code: Status, to: Place<*const c_char>)
        driver::error_name(call, code, to);
    fn cuGetErrorString(call, code: Status, to: Place<*const c_char>)
        driver::error_string(call, code, to);
    fn cuDeviceGetCount(call, to: Place<i32>) driver::device_count(call, to);
    fn cuDeviceGet(call, to: Place<DeviceNumber>, ordinal: i32) driver::device(call, to, ordinal);
    fn cuDeviceGetName(call, to: Place<c_char>, room: i32, device: DeviceNumber)
        driver::device_name(call, to, room, device);
    fn cuDeviceTotalMem_v2(call, to: Place<usize>, device: DeviceNumber)
        driver::total_memory(call, to, device);
    fn cuDeviceGetAttribute(call, to: Place<i32>, attribute: Attribute, device: DeviceNumber)
        driver::attribute(call, to, attribute, device);
    fn cuDevicePrimaryCtxRetain(call, to: Place<Handle>, device: DeviceNumber)
        context::retain(call, to, device);
    fn cuDevicePrimaryCtxRelease_v2(call, device: DeviceNumber) context::release(call, device);
    fn cuCtxPushCurrent_v2(call, context: Handle) context::push(call, context);
    fn cuCtxPopCurrent_v2(call, to: Place<Handle>) context::pop(call, to);
    fn cuCtxGetCurrent(call, to: Place<Handle>) context::get(call, to);
    fn cuMemAlloc_v2(call, to: Place<DevicePointer>, size: usize) memory::device(call, to, size);
    fn cuMemFree_v2(call, start: DevicePointer) memory::free_device(call, start);
    fn cuMemHostAlloc(call, to: Place<*mut c_void>, size: usize, flags: u32)
        memory::host(call, to, size, flags);
    fn cuMemFreeHost(call, start: *mut c_void) memory::free_host(call, start);
    fn cuMemAllocManaged(call, to: Place<DevicePointer>, size: usize, flags: u32)
        memory::managed(call, to, size, flags);
    fn cuMemcpyHtoDAsync_v2(
        call, to: DevicePointer, from: *const c_void, size: usize, stream: Handle,
    ) memory::host_to_device(call, to, from, size, stream);
    fn cuMemcpyDtoHAsync_v2(
        call, to: *mut c_void, from: DevicePointer, size: usize, stream: Handle,
    ) memory::device_to_host(call, to, from, size, stream);
    fn cuMemcpyDtoDAsync_v2(
        call, to: DevicePointer, from: DevicePointer, size: usize, stream: Handle,
    ) memory::device_to_device(call, to, from, size, stream);
    fn cuMemsetD8Async(call, to: DevicePointer, value: u8, count: usize, stream: Handle)
        memory::set(call, to, &value.to_ne_bytes(), count, stream);
    fn cuMemsetD16Async(call, to: DevicePointer, value: u16, count: usize, stream: Handle)
        memory::set(call, to, &value.to_ne_bytes(), count, stream);
    fn cuMemsetD32Async(call, to: DevicePointer, value: u32, count: usize, stream: Handle)
        memory::set(call, to, &value.to_ne_bytes(), count, stream);
    fn cuStreamCreate(call, to: Place<Handle>, flags: u32) stream::create(call, to, flags);
    fn cuStreamDestroy_v2(call, stream: Handle) stream::destroy(call, stream);
    fn cuStreamWaitEvent(call, stream: Handle, event: Handle, flags: u32)
        stream::wait_event(call, stream, event, flags);
    fn cuEventCreate(call, to: Place<Handle>, flags: u32) event::create(call, to, flags);
    fn cuEventDestroy_v2(call, event: Handle) event::destroy(call, event);
    fn cuEventRecord(call, event: Handle, stream: Handle) event::record(call, event, stream);
    fn cuEventQuery(call, event: Handle) event::query(call, event);
    fn cuEventSynchronize(call, event: Handle) event::synchronize(call, event);
    fn cuEventElapsedTime(call, to: Place<f32>, begin: Handle, end: Handle)
        event::elapsed(call, to, begin, end);
    fn cuModuleLoadDataEx(
        call, to: Place<Handle>, code: *const c_void, count: u32, options: *mut JitOption,
        values: Values,
    ) module::load(call, to, code, count, options, values);
    fn cuModuleUnload(call, module: Handle) module::unload(call, module);
    fn cuModuleGetFunction(call, to: Place<Handle>, module: Handle, name: *const c_char)
        module::get_function(call, to, module, name);
    fn cuModuleGetGlobal_v2(
        call, to: Place<DevicePointer>, size: Place<usize>, module: Handle, name: *const c_char,
    ) module::get_global(call, to, size, module, name);
    fn cuLinkCreate_v2(
        call, count: u32, options: *mut JitOption, values: Values, to: Place<Handle>,
    ) module::link_create(call, count, options, values, to);
    fn cuLinkAddData_v2(
        call, link: Handle, sort: u32, data: *mut c_void, size: usize, name: *const c_char,
        count: u32, _options: *mut JitOption, _values: Values,
    ) module::link_add(call, link, Input { sort, data, size, name }, count);
    fn cuLinkComplete(call, link: Handle, to: Values, size: Place<usize>)
        module::link_complete(call, link, to, size);
    fn cuLinkDestroy(call, link: Handle) module::link_destroy(call, link);
    fn cuFuncGetAttribute(call, to: Place<i32>, attribute: i32, function: Handle)
        module::function_attribute(call, to, attribute, function);
    fn cuLaunchKernel(
        call, function: Handle, x: u32, y: u32, z: u32, items_x: u32, items_y: u32, items_z: u32,
        shared: u32, stream: Handle, values: Values, extra: Values,
    ) {
        let (groups, items) = ([x, y, z], [items_x, items_y, items_z]);
        module::launch(call, function, Sizes { groups, items, shared }, stream, values, extra)
    };
}
