

class Trainyard:
    """An orchestrator, and the calls that a token allows.

    `url`: the server's address. `token`: created with `trainyard tokens create`; None for calls that
    need none. `ca_file`: the server's certificate, if it created its own (`tls/cert.pem` in its data
    folder). `timeout`: seconds that a call may take; streams have no limit.
    """

    def __init__(
        self,
        url: str,
        token: Optional[str] = None,
        *,
        ca_file: Optional[str] = None,
        timeout: float = 30,
    ) -> None:
        self._transport = _Transport(url, token, ca_file, timeout)

    def wait(self, id: str, *, timeout: Optional[float] = None, every: float = 2) -> JobDetail:
        """Waits until a job has ended, and returns it. Its status is then completed, failed or cancelled.

        timeout: seconds to wait at most; then raises TimeoutError. every: seconds between two calls.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            job = self.get_job(id)
            if job["status"] in ("completed", "failed", "cancelled"):
                return job
            if deadline is not None and time.monotonic() + every > deadline:
                raise TimeoutError(f"job {id} is still {job['status']} after {timeout} seconds")
            time.sleep(every)
