"""A local cluster for tests: prints its addresses, then does what each line of its input says, and answers with a line."""
import json
import os
import sys


def threads_named_tacho(dask_worker=None):
    import threading

    return [t.name for t in threading.enumerate() if t.name == "tacho"]


def left_behind(dask_scheduler=None):
    s = dask_scheduler
    # what takes samples that are on their way is none of the monitor's code
    ours = [n for n, handler in s.stream_handlers.items() if handler is not dict]
    return [n for n in [*s.plugins, *s.worker_plugins, *ours] if "tacho" in str(n)]


def note_messages(dask_worker):
    """Notes what each message to the scheduler holds."""
    comm, dask_worker.noted = dask_worker.batched_stream.comm, []
    write = comm.write

    def noting(payload, **kw):
        dask_worker.noted.append([str(each.get("op")) for each in payload])
        return write(payload, **kw)

    comm.write = noting


def noted_messages(dask_worker):
    del dask_worker.batched_stream.comm.write
    return dask_worker.noted


def main():
    import dask

    options = json.loads(sys.argv[1])
    # on a loaded machine heartbeats come late: Dask would take the workers for dead and compute their tasks again
    dask.config.set({"distributed.scheduler.worker-ttl": None, **options.get("config", {})})
    from distributed import Client, LocalCluster
    from distributed.security import Security

    tls = options.get("tls")
    security = None
    if tls:
        security = Security(tls_ca_file=tls["ca"], require_encryption=True, **{
            f"tls_{role}_{part}": tls[part] for role in ("scheduler", "worker", "client") for part in ("cert", "key")})
    cluster = LocalCluster(
        n_workers=options.get("workers", 2),
        threads_per_worker=options.get("threads", 2),
        dashboard_address="127.0.0.1:0",
        protocol="tls" if tls else "tcp",
        security=security,
        memory_limit=options.get("memory", "1GiB"),
    )
    if "version" in options:
        said = {"packages": {"distributed": options["version"]}}
        cluster.scheduler.handlers["versions"] = lambda *_, **__: said
    if options.get("busy"):
        # the counts of a worker that has done something since its last heartbeat, which JSON cannot hold
        cluster.scheduler.identity = lambda *_, **__: {"workers": {("execute", "inc", "thread-cpu", "seconds"): 1}}
    print(json.dumps({"address": cluster.scheduler_address, "dashboard": cluster.dashboard_link}), flush=True)
    for line in sys.stdin:
        request = line.strip()
        answer = None
        if request == "end":
            break
        if request.startswith("scale "):
            cluster.scale(int(request.split()[1]))
        elif request.startswith("adapt "):
            low, high = map(int, request.split()[1:])
            cluster.adapt(minimum=low, maximum=high, interval="100ms", wait_count=2)
        elif request == "left":
            with Client(cluster) as client:
                answer = {"plugins": client.run_on_scheduler(left_behind), "threads": client.run(threads_named_tacho)}
        elif request.startswith("run "):
            import workflow

            asked = json.loads(request[4:])
            os.environ.update(asked["env"])
            with Client(cluster) as client:
                for name in asked["names"]:
                    getattr(workflow, name)(client, cluster)
        elif request == "messages":
            import workflow

            with Client(cluster) as client:
                client.run(note_messages)
                client.gather(client.map(workflow.inc, range(400), seconds=0.01, pure=False))
                answer = [each for messages in client.run(noted_messages).values() for each in messages]
        elif request == "restart":
            with Client(cluster) as client:
                client.restart()
        print(json.dumps(answer), flush=True)
    cluster.close()
    os._exit(0)


if __name__ == "__main__":
    main()
