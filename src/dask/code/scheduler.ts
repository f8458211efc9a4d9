import { pickleOf, pythonText } from '../pickle.ts';
import { type SamplerOptions, samplerSource } from './worker.ts';

/** So many events are kept for a monitor that does not read; more are counted and given up. */
const MOST_EVENTS = 2_000_000;

/**
 * What the scheduler runs for the monitor, in Python: a plugin that notes what happens, and a step that hands it over. When the
 * connection ends, however that happens, the scheduler itself calls `teardown`.
 */
const schedulerSource = (options: SamplerOptions): string => `
import time, asyncio, inspect, sys, msgpack
from distributed.diagnostics.plugin import SchedulerPlugin
import distributed
ID = ${pythonText(options.id)}
SAMPLER = bytes.fromhex(${pythonText(pickleOf(samplerSource(options), 'sampler').toString('hex'))})

def key_text(k):
    if type(k) is str: return k
    if type(k) is tuple: return "(" + ",".join([key_text(e) if type(e) is tuple else repr(e) for e in k]) + ("," if len(k) == 1 else "") + ")"
    return str(k)

class Notes(SchedulerPlugin):
    name = ID
    def __init__(self, scheduler):
        self.scheduler, self.events, self.lost, self.graphs, self.settled, self.held = scheduler, [], 0, 0, [], 0
        self.graph_of, self.on, self.shifts, self.comm, self.closing, self.left = {}, {}, {}, None, False, False
        self.begun, self.ended, self.gone = [], [], []
        self.transition = self.quick_transition(scheduler)
        for ts in scheduler.tasks.values():
            if ts.processing_on is not None: self.on[ts.key] = ts.processing_on
    def add(self, *event):
        if len(self.events) < ${MOST_EVENTS}: self.events.append(event)
        else: self.lost += 1
    def add_client(self, scheduler=None, client=None, **kw): self.add("client", time.time(), client)
    def remove_client(self, scheduler=None, client=None, **kw): self.add("client-gone", time.time(), client)
    def add_worker(self, scheduler=None, worker=None, **kw): self.add("worker", time.time(), worker)
    def remove_worker(self, scheduler=None, worker=None, **kw):
        self.settle()
        self.shifts.pop(worker, None)
        self.add("worker-gone", time.time(), worker)
    def restart(self, scheduler=None, **kw):
        self.settle()
        self.graph_of.clear()
        self.on.clear()
    def update_graph(self, scheduler=None, client=None, keys=(), tasks=(), **kw):
        self.settle()
        number, known = self.graphs, self.graph_of
        self.graphs += 1
        fresh = 0
        for k in tasks:
            if k not in known:
                known[k] = number
                fresh += 1
        wanted = []
        for k in keys:
            wanted.append(key_text(k))
            if len(wanted) == 50: break
        self.add("graph", time.time(), client, number, wanted, len(keys), fresh)
    # Dask calls it five times for a task, with nothing of it in the CPU's caches: all that can wait is left to settle(). What is
    # kept until then are texts and numbers in one list, as Python's garbage collector runs the more often the more objects are kept.
    def quick_transition(self, scheduler):
        now, ended, extend, begun, gone, on = time.time, self.ended, self.ended.extend, self.begun.extend, self.gone.append, self.on
        def transition(key, start, finish, *args, **kw):
            if start == "processing":
                worker, steps, more = kw.get("worker"), kw.get("startstops"), None
                begin = end = transfer = disk = error = None
                for s in steps or ():
                    action = s["action"]
                    if action == "compute": begin, end = s["start"], s["stop"]
                    elif action == "transfer": transfer = (transfer or 0) + s["stop"] - s["start"]
                    elif action[:4] == "disk": disk = (disk or 0) + s["stop"] - s["start"]
                if finish != "memory":
                    if worker is None:
                        self.settle()
                        if on.get(key) is not None: worker = on[key].address
                    if finish == "erred": outcome = 1
                    else:
                        # a retry, a lost worker, or nobody wants it any more
                        ts = scheduler.tasks.get(key)
                        if ts is None or not (ts.who_wants or ts.waiters): return
                        alive = worker in scheduler.workers and scheduler.workers[worker].status.name != "closed"
                        outcome = 1 if alive and not ts.suspicious else 2
                    if outcome == 1: error = kw.get("exception_text") or ("retried" if finish != "erred" else None)
                    if outcome == 1 and begin is None and finish == "erred": outcome = 2
                    more = transfer, disk, outcome, error and error[:200]
                elif transfer is not None or disk is not None: more = transfer, disk, 0, None
                if len(ended) < ${7 * MOST_EVENTS}: extend((key, worker, begin, end or now(), kw.get("nbytes"), kw.get("thread"), more))
                else: self.lost += 1
            elif finish == "processing":
                ts = scheduler.tasks.get(key)
                if ts is not None: begun((key, ts.processing_on))
            if finish == "forgotten": gone(key)
        return transition
    # before a key can mean another task, or a worker another clock: all columns of the tasks that ended
    def settle(self):
        ended, begun, graph_of, on = self.ended, self.begun, self.graph_of, self.on
        on.update(zip(begun[0::2], begun[1::2]))
        begun.clear()
        if ended:
            keys, workers = ended[0::7], ended[1::7]
            self.held += len(keys)
            if self.held > ${MOST_EVENTS}: self.lost += len(keys)
            else:
                texts = [k if type(k) is str else key_text(k) for k in keys]
                columns = [ended[i::7] for i in range(2, 7)]
                self.settled.append((texts, workers, *columns, list(map(graph_of.get, keys)), list(map(self.shifts.get, workers))))
            ended.clear()
        for k in self.gone:
            graph_of.pop(k, None)
            on.pop(k, None)
        self.gone.clear()
    async def close(self):
        # the last step: what happened since the one before it
        if self.comm is not None:
            try: await self.comm.write(handed_over(self))
            except Exception: pass
            # a feed that is cancelled in its sleep would be logged as an error
            self.closing = True
            for _ in range(40):
                if self.left: break
                await asyncio.sleep(0.01)
    def samples(self, worker=None, about=None, rows=None, notes=None, shift=None, **kw):
        if shift is None: self.add("rows", worker, about, rows, notes)
        # of the tasks that this worker ends from now on
        else:
            self.settle()
            self.shifts[worker] = shift

async def setup(scheduler):
    p = Notes(scheduler)
    scheduler.add_plugin(p, name=ID)
    scheduler.stream_handlers[ID] = p.samples
    kw = {"idempotent": False} if "idempotent" in inspect.signature(scheduler.register_worker_plugin).parameters else {}
    p.registered = asyncio.ensure_future(scheduler.register_worker_plugin(None, plugin=SAMPLER, name=ID, **kw))
    p.add("hello", distributed.__version__, scheduler.id, [[w.address, str(w.name)] for w in scheduler.workers.values()], [c for c in scheduler.clients if c != "fire-and-forget"])
    return p

def step(scheduler, p):
    # the connection is the scheduler's own business; its last words need it
    if p.comm is None: p.comm = sys._getframe(1).f_locals.get("comm")
    if p.closing: raise OSError("the scheduler closes")
    return handed_over(p)

def handed_over(p):
    p.settle()
    events, tasks, lost = p.events, p.settled, p.lost
    p.events, p.settled, p.lost, p.held = [], [], 0, 0
    if p.registered is not None and p.registered.done():
        if p.registered.exception() is not None: events.append(("failed", repr(p.registered.exception())[:500]))
        p.registered = None
    # packed here: Dask would estimate the size of each part before it packs it
    body = {"now": time.time(), "events": events, "tasks": tasks, "lost": lost}
    return {"tacho": 1, "body": msgpack.packb(body, unicode_errors="surrogatepass", default=str)}

async def leave(scheduler, p):
    try:
        if p.registered is not None: await p.registered
    except Exception: pass
    try: await scheduler.unregister_worker_plugin(None, ID)
    except Exception: pass

def teardown(scheduler, p):
    p.left = True
    try: scheduler.remove_plugin(name=ID)
    except Exception: pass
    # it stays, and does nothing: a sample that is on its way would otherwise end the worker's stream
    scheduler.stream_handlers[ID] = ignore
    asyncio.ensure_future(leave(scheduler, p))

def ignore(**kw): pass
`;

/** The message that starts the feed. */
export function feedMessage(options: SamplerOptions, stepSeconds: number) {
  const source = schedulerSource(options);
  return {
    op: 'feed',
    // a scheduler that refuses says so at once
    reply: true,
    function: pickleOf(source, 'step'),
    setup: pickleOf(source, 'setup'),
    teardown: pickleOf(source, 'teardown'),
    interval: `${Math.round(stepSeconds * 1000)}ms`,
  };
}
