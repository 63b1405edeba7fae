// SIGSEGV and SIGBUS inside a simulated thread end the launch as a Fault; others go to whoever
// handled them before.
#include "kernels/cuda/sim/machine.h"

#include <mutex>

#include <signal.h>
#include <ucontext.h>

namespace engine::sim {
namespace {

std::mutex installMutex;
int installed = 0;
struct sigaction previousSegv;
struct sigaction previousBus;

void endLaunch() { Machine::ofThisThread().failAt(nullptr); }

void handle(int signal, siginfo_t *info, void *context) {
  if (!currentThread || !Machine::ofThisThread().ownsFault(info->si_addr)) {
    sigaction(signal, signal == SIGSEGV ? &previousSegv : &previousBus, nullptr);
    return; // and fault again, there
  }
  // The thread goes on in endLaunch, on a stack that is surely there, as if it had been called.
  auto *machineContext = &static_cast<ucontext_t *>(context)->uc_mcontext;
  machineContext->gregs[REG_RIP] = reinterpret_cast<greg_t>(&endLaunch);
  machineContext->gregs[REG_RSP] =
      reinterpret_cast<greg_t>(Machine::ofThisThread().emergencyStackTop());
}

// A signal on an overflown stack needs a stack of its own, one for each host thread.
struct SignalStack {
  std::unique_ptr<char[]> memory;
  bool mine = false;

  SignalStack() {
    stack_t now{};
    sigaltstack(nullptr, &now);
    if (!(now.ss_flags & SS_DISABLE))
      return;
    constexpr size_t kBytes = 64 << 10;
    memory = std::make_unique<char[]>(kBytes);
    stack_t wanted{};
    wanted.ss_sp = memory.get();
    wanted.ss_size = kBytes;
    sigaltstack(&wanted, nullptr);
    mine = true;
  }
  ~SignalStack() {
    if (!mine)
      return;
    stack_t off{};
    off.ss_flags = SS_DISABLE;
    sigaltstack(&off, nullptr);
  }
};

} // namespace

FaultHandler::FaultHandler() {
  static thread_local SignalStack stack;
  const std::lock_guard<std::mutex> lock(installMutex);
  if (installed++ > 0)
    return;
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previousSegv);
  sigaction(SIGBUS, &action, &previousBus);
}

FaultHandler::~FaultHandler() {
  const std::lock_guard<std::mutex> lock(installMutex);
  if (--installed > 0)
    return;
  sigaction(SIGSEGV, &previousSegv, nullptr);
  sigaction(SIGBUS, &previousBus, nullptr);
}

} // namespace engine::sim
