"""A program on a pseudo-terminal, for the tests of the REPL and of conversations."""
import os
import select
import time


class PseudoTerminal:
    """fd: of the terminal, set by the class derived from this one."""

    fd = -1
    patience = 100  # seconds until a test gives up; no result depends on time
    newline_is_shared = False  # the end of a line may also begin the next text

    def send(self, text):
        data = text.encode()
        while data:
            data = data[os.write(self.fd, data):]

    def wait(self, *wanted):
        """Reads until all of `wanted` have come, in this order; returns the text."""
        begin, came, at = time.time(), "", 0
        for text in wanted:
            while text not in came[at:]:
                ready = select.select([self.fd], [], [], 1)[0]
                try:
                    came += os.read(self.fd, 65536).decode(errors="replace") if ready else ""
                except OSError:
                    raise EOFError(f"ended before {text!r} came; so far {came[-300:]!r}") from None
                if time.time() - begin > self.patience:
                    raise TimeoutError(f"{text!r} did not come; so far {came[-300:]!r}")
            at = came.index(text, at) + len(text) - (self.newline_is_shared and text.endswith("\n"))
        return came
