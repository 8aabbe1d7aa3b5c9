// The benchmarks' work, done by DPC++'s run time, behind a C interface.
//
// Kernels and device globals are compiled by its run-time compiler: so a stock compiler can build this file.
// Functions answer 0, or 1 with the reason in `peer_reason`. No exception leaves this file.

#include <sycl/sycl.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

namespace experimental = sycl::ext::oneapi::experimental;

namespace {

constexpr char source[] = R"(
#include <sycl/sycl.hpp>
namespace experimental = sycl::ext::oneapi::experimental;

experimental::device_global<uint32_t> cell;
experimental::device_global<uint32_t[1024]> block;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(experimental::single_task_kernel)
void nothing() {}

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(experimental::single_task_kernel)
void step() { cell += 1; }

// A device global that no kernel uses would not be there.
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(experimental::single_task_kernel)
void use_block() { block[0] += 1; }
)";

using Executable = sycl::kernel_bundle<sycl::bundle_state::executable>;

struct Peer {
  sycl::queue queue;
  sycl::kernel nothing;
  sycl::kernel step;
  void *cell;
  void *block;
};

// Never deleted: at the end of the process the driver is gone before static objects are.
Peer *peer = nullptr;
std::string reason;

template <typename Work> int guarded(Work work) {
  try {
    work();
    return 0;
  } catch (const std::exception &error) {
    reason = error.what();
  } catch (...) {
    reason = "an exception of no standard type";
  }
  return 1;
}

// In order, as Crosscut's queues are by default; on the very device that the others measure.
sycl::queue queue_on(const std::string &name) {
  for (const sycl::device &device : sycl::device::get_devices())
    if (device.get_backend() == sycl::backend::opencl &&
        device.get_info<sycl::info::device::name>() == name)
      return sycl::queue{device, sycl::property::queue::in_order{}};
  throw std::runtime_error("DPC++ finds no OpenCL device `" + name + "`");
}

Executable build(const sycl::queue &queue, const std::string &text) {
  auto bundle = experimental::create_kernel_bundle_from_source(
      queue.get_context(), experimental::source_language::sycl, text);
  return experimental::build(bundle);
}

void launch(const sycl::kernel &kernel) {
  peer->queue.submit([&](sycl::handler &handler) { handler.single_task(kernel); });
}

} // namespace

extern "C" {

const char *peer_reason() { return reason.c_str(); }

int peer_open(const char *device) {
  return guarded([=] {
    sycl::queue queue = queue_on(device);
    Executable bundle = build(queue, source);
    peer = new Peer{
        queue,
        bundle.ext_oneapi_get_kernel("nothing"),
        bundle.ext_oneapi_get_kernel("step"),
        bundle.ext_oneapi_get_device_global_address("cell", queue.get_device()),
        bundle.ext_oneapi_get_device_global_address("block", queue.get_device()),
    };
  });
}

// Launches the empty kernel so often, and waits.
int peer_launch(std::uint32_t times) {
  return guarded([=] {
    for (std::uint32_t time = 0; time < times; ++time)
      launch(peer->nothing);
    peer->queue.wait_and_throw();
  });
}

// Launches the kernel that counts the cell up. What comes next in the queue waits for it.
int peer_step() {
  return guarded([] { launch(peer->step); });
}

// Writes the cell (a count of 1) or the block, and waits.
int peer_write(const std::uint32_t *from, std::size_t count) {
  return guarded([=] {
    void *to = count == 1 ? peer->cell : peer->block;
    peer->queue.memcpy(to, from, count * sizeof *from).wait_and_throw();
  });
}

// Reads the cell (a count of 1) or the block, and waits.
int peer_read(std::uint32_t *to, std::size_t count) {
  return guarded([=] {
    const void *from = count == 1 ? peer->cell : peer->block;
    peer->queue.memcpy(to, from, count * sizeof *to).wait_and_throw();
  });
}

// Builds a program from its text, writes one of its device globals (programs that are compiled at run time begin with
// zeros, whatever their text says) and has one of its kernels write its result to a number.
int peer_start(const char *device, const char *text, const char *global, std::uint32_t value, const char *kernel,
               std::uint32_t *result) {
  return guarded([=] {
    sycl::queue queue = queue_on(device);
    Executable bundle = build(queue, text);
    void *there = bundle.ext_oneapi_get_device_global_address(global, queue.get_device());
    queue.memcpy(there, &value, sizeof value).wait_and_throw();
    std::uint32_t *number = sycl::malloc_shared<std::uint32_t>(1, queue);
    queue
        .submit([&](sycl::handler &handler) {
          handler.set_args(number);
          handler.single_task(bundle.ext_oneapi_get_kernel(kernel));
        })
        .wait_and_throw();
    *result = *number;
    sycl::free(number, queue);
  });
}
}
