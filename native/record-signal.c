/* With TACHO_RECORD_SIGNALS=1 a process that a signal ends has a line, too: where a program leaves the signal alone. */
#include "record.h"
#include <signal.h>

static const int deadly[] = { SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGPIPE,
                              SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGVTALRM };

static void die(int number)
{
    end_process("signal", MISSING, number);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    signal(number, SIG_DFL);
    syscall(SYS_tgkill, kernel_pid(), kernel_tid(), number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
}

void catch_signals(void)
{
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction action;
        if (sigaction(deadly[i], NULL, &action) != 0 || action.sa_handler != SIG_DFL)
            continue;
        action = (struct sigaction){ .sa_handler = die, .sa_flags = SA_ONSTACK | SA_RESETHAND };
        sigaction(deadly[i], &action, NULL);
    }
}
