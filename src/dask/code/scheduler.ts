import { pickleOf, pythonText } from '../pickle.ts';
import { type SamplerOptions, samplerSource } from './worker.ts';

/** Number of events kept for a monitor that does not read; more are counted and dropped. */
const MOST_EVENTS = 2_000_000;

/** Keys of tasks that the scheduler has forgotten are kept until there are so many more than tasks. */
const MOST_FORGOTTEN = 10_000;

/** A sample that a worker has sent reaches the scheduler long before. */
const FORGET_SECONDS = 60;

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

# The worker of a task that erred and is tried again: Dask has forgotten it by then, but what it runs now was called for this worker.
def worker_of(scheduler, frame):
    while frame is not None:
        here = frame.f_locals
        if here.get("self") is scheduler:
            for name in ("worker", "address"):
                if type(here.get(name)) is str: return here[name]
        frame = frame.f_back

class Notes(SchedulerPlugin):
    name = ID
    def __init__(self, scheduler):
        self.scheduler, self.events, self.lost, self.graphs, self.settled, self.held = scheduler, [], 0, 0, [], 0
        self.graph_of, self.shifts, self.comm, self.closing, self.left, self.ended = {}, {}, None, False, False, []
        self.leaving = None, ()
        self.transition = self.quick_transition(scheduler)
    def add(self, *event):
        if len(self.events) < ${MOST_EVENTS}: self.events.append(event)
        else: self.lost += 1
    def add_client(self, scheduler=None, client=None, **kw): self.add("client", time.time(), client)
    def remove_client(self, scheduler=None, client=None, **kw): self.add("client-gone", time.time(), client)
    def add_worker(self, scheduler=None, worker=None, **kw): self.add("worker", time.time(), worker)
    def remove_worker(self, scheduler=None, worker=None, **kw):
        self.settle()
        self.shifts.pop(worker, None)
        self.leaving = None, ()
        self.add("worker-gone", time.time(), worker)
    def log_event(self, topic, msg):
        # before its tasks go elsewhere
        if type(msg) is dict and msg.get("action") == "remove-worker" and "worker" in msg: self.leaving = msg["worker"], msg.get("processing-tasks", ())
    def restart(self, scheduler=None, **kw):
        self.settle()
        self.graph_of.clear()
    def update_graph(self, scheduler=None, client=None, keys=(), tasks=(), **kw):
        self.settle()
        number, known, live = self.graphs, self.graph_of, self.scheduler.tasks
        self.graphs += 1
        # keys are added here alone, so this is where those go that Dask has forgotten
        if len(known) > 2 * len(live) + ${MOST_FORGOTTEN}: self.graph_of = known = {k: known[k] for k in live if k in known}
        fresh = 0
        for k in tasks:
            # a key may be used again once its task was forgotten: no task of this graph has begun yet
            if k not in known or k in live and live[k].state == "released":
                known[k] = number
                fresh += 1
        wanted = []
        for k in keys:
            wanted.append(key_text(k))
            if len(wanted) == 50: break
        self.add("graph", time.time(), client, number, wanted, len(keys), fresh)
    # Dask calls it five times for a task, with nothing of it in the CPU's caches: only the call at its end does anything, and all that
    # can wait is left to settle(). What is kept until then are texts and numbers in one list, as Python's garbage collector runs the
    # more often the more objects are kept.
    def quick_transition(self, scheduler):
        now, ended, extend = time.time, self.ended, self.ended.extend
        # what Dask passes with every call is named, though not used: a dict that stays empty costs next to nothing
        def transition(key, start, finish, stimulus_id=None, worker=None, startstops=None, nbytes=None, thread=None, exception_text=None, type=None, typename=None, metadata=None, **kw):
            if start != "processing": return
            begin = end = transfer = disk = error = more = None
            for s in startstops or ():
                action = s["action"]
                if action == "compute": begin, end = s["start"], s["stop"]
                elif action == "transfer": transfer = (transfer or 0) + s["stop"] - s["start"]
                elif action[:4] == "disk": disk = (disk or 0) + s["stop"] - s["start"]
            if finish != "memory":
                if finish != "erred":
                    # a retry, a lost worker, or nobody wants it any more
                    ts = scheduler.tasks.get(key)
                    if ts is None or not (ts.who_wants or ts.waiters): return
                if worker is None and key in self.leaving[1]: worker = self.leaving[0]
                # it has not run: what it needs went with another worker
                elif finish != "erred" and any(not each.who_has for each in ts.dependencies): return
                elif worker is None: worker = worker_of(scheduler, sys._getframe(1))
                # a worker that goes is taken off the list before its tasks
                outcome = 1 if worker in scheduler.workers else 2
                if outcome == 1: error = exception_text or ("retried" if finish != "erred" else None)
                more = transfer, disk, outcome, error and error[:200]
            elif transfer is not None or disk is not None: more = transfer, disk, 0, None
            if len(ended) < ${7 * MOST_EVENTS}: extend((key, worker, begin, end or now(), nbytes, thread, more))
            else: self.lost += 1
        return transition
    # before a key can mean another task, or a worker another clock: all columns of the tasks that ended
    def settle(self):
        ended = self.ended
        if not ended: return
        keys, workers = ended[0::7], ended[1::7]
        self.held += len(keys)
        if self.held > ${MOST_EVENTS}: self.lost += len(keys)
        else:
            texts = [k if type(k) is str else key_text(k) for k in keys]
            columns = [ended[i::7] for i in range(2, 7)]
            self.settled.append((texts, workers, *columns, list(map(self.graph_of.get, keys)), list(map(self.shifts.get, workers))))
        ended.clear()
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
    except Exception: return
    # no worker sends any more, and what was on its way has come
    asyncio.get_running_loop().call_later(${FORGET_SECONDS}, scheduler.stream_handlers.pop, ID, None)

def teardown(scheduler, p):
    p.left = True
    try: scheduler.remove_plugin(name=ID)
    except Exception: pass
    # does nothing, and is none of ours: a sample that is on its way would otherwise end the worker's stream
    scheduler.stream_handlers[ID] = dict
    asyncio.ensure_future(leave(scheduler, p))
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
