import * as fs from 'node:fs';
import { compressHostlist } from '../../base/hostlist.ts';
import type { FilesReply, FilesRequest, HubRecording, RecordingsReply } from '../../sinks/hub/protocol.ts';
import { PROTOCOL } from '../../sinks/hub/protocol.ts';
import { type Identity, mayActFor } from '../../trust/identity.ts';
import { openToRead } from './archive-folder.ts';
import type { FiledRecording, Filing } from './filing.ts';
import { Unusable } from './names.ts';
import { entriesIn, MOST_FILES } from './node-files.ts';

/** Bytes of files in one answer: who wants more asks again. */
const MOST_BYTES = 16 << 20;
/** The time of a file of which there is more. */
const CUT = 0;

/** Users read their own recordings, administrators all; the agents of nodes have no need to. */
const mayRead = (identity: Identity, { kind, user }: FiledRecording): boolean =>
  kind === 'job' && identity.kind !== 'node' && mayActFor(identity, user);

/** The jobs whose samples come now, or came a moment ago: what GET /v1/recordings answers. */
export function receivedRecordings({ recordings }: Filing, identity: Identity): RecordingsReply {
  const readableRecordings = [...recordings.values()].filter((recording) => mayRead(identity, recording));
  return { protocol: PROTOCOL, recordings: readableRecordings.map(describe) };
}

function describe({ key, user, job, streams }: FiledRecording): HubRecording {
  const { id, name, account, partition, start, end, state, tags } = job;
  const hosts = [...new Set([...job.nodes, ...streams.keys()])];
  return {
    ...{ key, user, job: id, name, start, state, tags, nodes: hosts.length, hosts: compressHostlist(hosts) },
    ...(account === undefined ? {} : { account }),
    ...(partition === undefined ? {} : { partition }),
    ...(end === undefined ? {} : { end }),
  };
}

/** What is new in the files of a recording: a line of JSON (FilesReply), then their bytes. */
export function newFiles(filing: Filing, request: FilesRequest, identity: Identity): Buffer {
  const recording = filing.recordings.get(String(request.recording));
  if (recording === undefined || !mayRead(identity, recording)) throw new Unusable('there is no such recording here');
  filing.asked(recording);
  const have = new Map(Object.entries(request.have ?? {}));
  const reply: FilesReply = { files: [], gone: [], more: false };
  const chunks: Buffer[] = [];
  let left = MOST_BYTES;
  filing.shelf.folders.in(recording.archivePath, false, (folder) => {
    for (const file of filesIn(folder)) {
      const previousState = have.get(file);
      have.delete(file);
      const fd = openToRead(`${folder}/${file}`);
      try {
        const { size, mtimeMs, ino } = fs.fstatSync(fd);
        if (previousState?.[0] === size && previousState[1] === mtimeMs && previousState[2] === ino) continue;
        // samples are only ever added to, and what was cut goes on; everything else is replaced
        const isLonger =
          previousState?.[2] === ino && size >= previousState[0] && (file.endsWith('.csv') || previousState[1] === CUT);
        const from = isLonger ? previousState[0] : 0;
        const bytes = Buffer.alloc(Math.min(size - from, left));
        const length = fs.readSync(fd, bytes, 0, bytes.length, from);
        const isAll = from + length >= size;
        reply.more ||= !isAll;
        reply.files.push([file, from, length, isAll ? mtimeMs : CUT, ino]);
        chunks.push(bytes.subarray(0, length));
        left -= length;
      } finally {
        fs.closeSync(fd);
      }
    }
  });
  reply.gone = [...have.keys()];
  return Buffer.concat([Buffer.from(`${JSON.stringify(reply)}\n`), ...chunks]);
}

/** The files of a recording: its own and those of its nodes; what is not a plain file, or is being written, is left out. */
function filesIn(folder: string): string[] {
  const files: string[] = [];
  for (const entry of entriesIn(folder, MOST_FILES)) {
    if (entry.isFile() && isWhole(entry.name)) files.push(entry.name);
    if (!entry.isDirectory() || !entry.name.startsWith('node=')) continue;
    for (const { name } of entriesIn(`${folder}/${entry.name}`, MOST_FILES).filter((each) => each.isFile()))
      if (isWhole(name)) files.push(`${entry.name}/${name}`);
  }
  return files;
}

const isWhole = (name: string): boolean => !name.startsWith('.') && !name.endsWith('.tmp');
