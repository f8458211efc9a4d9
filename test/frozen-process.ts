/** A process of a frozen machine. */
export interface FrozenProcess {
  pid: number;
  parent?: number;
  group?: number;
  session?: number;
  /** Clock ticks after boot. */
  start?: number;
  name?: string;
  command?: string[];
  state?: string;
  uid?: number;
  threads?: number;
  /** Clock ticks. */
  user?: number;
  system?: number;
  rssPages?: number;
  /** In kB, its share of what several map; undefined: it cannot be told. */
  pss?: number;
  minorFaults?: number;
  /** Of the main thread: nanoseconds that it ran and that it waited, and how often it ran. */
  schedule?: [number, number, number];
  /** read_chars, written_chars, read_bytes, written_bytes of the main thread, and what the whole process has besides. */
  io?: [number, number, number, number];
  ioOfOthers?: [number, number, number, number];
  environment?: Record<string, string>;
  allowedCpus?: string;
}

/** One that works. */
export const WORKING: Omit<FrozenProcess, 'pid'> = {
  parent: 7,
  state: 'R',
  user: 250,
  system: 30,
  rssPages: 1000,
  minorFaults: 4321,
  io: [1000, 2000, 4096, 8192],
};

/** The files of /proc that such a process has. */
export function processFiles(p: FrozenProcess): Record<string, string> {
  const { pid, parent = 1, group = pid, session = pid, start = 5000, name = 'work', state = 'S', threads = 1 } = p;
  const { uid = 1000, user = 0, system = 0, rssPages = 256, minorFaults = 100, schedule = [1, 0, 1] } = p;
  const ended = state === 'Z';
  const io = p.io ?? [0, 0, 0, 0];
  const whole = io.map((n, i) => n + (p.ioOfOthers?.[i] ?? 0));
  const ioText = ([rc, wc, r, w]: number[]): string =>
    `rchar: ${rc}\nwchar: ${wc}\nsyscr: 3\nsyscw: 4\nread_bytes: ${r}\nwrite_bytes: ${w}\ncancelled_write_bytes: 0\n`;
  const memory = ended
    ? ''
    : `VmPeak:\t  9000 kB\nVmHWM:\t  ${rssPages * 4 + 8} kB\nVmRSS:\t  ${rssPages * 4} kB\nRssAnon:\t  ${rssPages * 3} kB\n` +
      `RssFile:\t  ${rssPages} kB\nRssShmem:\t  0 kB\nVmSwap:\t  12 kB\n`;
  const folder = `/proc/${pid}`;
  return {
    [`${folder}/stat`]:
      `${pid} (${name}) ${state} ${parent} ${group} ${session} 0 -1 4194304 ${minorFaults} 999 2 888 ${user} ${system} ` +
      `777 666 20 0 ${threads} 0 ${start} ${ended ? 0 : 8192000} ${ended ? 0 : rssPages} 18446744073709551615 ` +
      '1 2 3 0 0 0 0 4096 81920 0 0 0 17 5 0 0 0 0 0 1 2 3 4 5 6 7 0\n',
    [`${folder}/status`]:
      `Name:\t${name}\nUmask:\t0022\nState:\t${state} (sleeping)\nPid:\t${pid}\nPPid:\t${parent}\nUid:\t${uid}\t${uid}\t${uid}\t${uid}\n` +
      `${memory}Threads:\t${threads}\nCpus_allowed:\tf\nCpus_allowed_list:\t${p.allowedCpus ?? '0-3'}\nvoluntary_ctxt_switches:\t21\nnonvoluntary_ctxt_switches:\t4\n`,
    [`${folder}/schedstat`]: `${schedule.join(' ')}\n`,
    [`${folder}/io`]: ioText(whole),
    [`${folder}/task/${pid}/io`]: ioText(io),
    [`${folder}/cmdline`]: (p.command ?? [name]).map((word) => `${word}\0`).join(''),
    [`${folder}/environ`]: Object.entries(p.environment ?? {})
      .map(([k, v]) => `${k}=${v}\0`)
      .join(''),
    ...(p.pss === undefined
      ? {}
      : {
          [`${folder}/smaps_rollup`]:
            `5583d0000000-7ffd00000000 ---p 00000000 00:00 0                          [rollup]\nRss:              ${rssPages * 4} kB\n` +
            `Pss:              ${p.pss} kB\nPss_Dirty:        ${p.pss} kB\nShared_Clean:        800 kB\n`,
        }),
  };
}

/** What else of /proc the job's sources look at; `newest` is the pid that was given last. */
export function nodeFiles(newest: number): Record<string, string> {
  return {
    '/proc/stat': 'cpu  1 2 3 4\nbtime 1700000000\n',
    '/proc/loadavg': `0.10 0.20 0.30 1/200 ${newest}\n`,
    '/etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000:Ada:/home/ada:/bin/sh\n',
  };
}
