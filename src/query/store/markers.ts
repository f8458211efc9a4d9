import type { Marker } from '../../recording/read/markers.ts';
import type { StoredJob } from './records.ts';
import { selector } from './selector.ts';

/** The markers of a job: they are few, and each of them counts. */
export async function storedMarkers({ store, owner, recording, from, to }: StoredJob): Promise<Marker[]> {
  const nodes = recording.nodes.map((node) => node.name);
  const names = ['tacho_marker_phase', 'tacho_marker_fom'];
  const series = selector({ ...owner, names, nodes });
  const markers: Marker[] = [];
  for await (const { labels, values, times } of store.samples(series, from, to)) {
    const fom = labels.__name__ === 'tacho_marker_fom';
    times.forEach((time, i) => {
      markers.push({
        time: time * 1000,
        node: labels.node ?? '',
        action: fom ? 'fom' : values[i]! > 0 ? 'begin' : 'end',
        name: labels.name ?? '',
        ...(fom ? { value: String(values[i]) } : {}),
      });
    });
  }
  return markers.sort((a, b) => a.time - b.time || ORDER.indexOf(a.action) - ORDER.indexOf(b.action));
}

/** In the same millisecond one phase ends before the next begins. */
const ORDER: readonly Marker['action'][] = ['fom', 'end', 'begin'];
