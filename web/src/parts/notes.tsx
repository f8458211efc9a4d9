import { useState } from 'preact/hooks';
import { ask, type JobNotes, latest, type Report, useAnswer } from '../ask.ts';
import { bytes, count, duration, moment } from '../value-text.ts';

/** What is known of the job, and what people say of it. */
export function Notes({ job, report }: { job: string; report: Report }) {
  const [again, setAgain] = useState(0);
  const [trouble, setTrouble] = useState('');
  const asked = useAnswer<JobNotes>(`/api/jobs/${job}/notes`, again);
  const notes = latest(asked);
  const save = async (body: object): Promise<void> => {
    try {
      await ask(`/api/jobs/${job}/notes`, undefined, body);
      setTrouble('');
    } catch (error) {
      setTrouble((error as Error).message);
    }
    setAgain((n) => n + 1);
  };
  return (
    <section class="card notes" aria-label="Facts, notes and tags">
      <h2>Facts, notes and tags</h2>
      <dl>
        {factsOf(report).map(([name, text]) => (
          <div key={name}>
            <dt>{inWords(name)}</dt>
            <dd>{text}</dd>
          </div>
        ))}
        {Object.entries(notes?.tags ?? {}).map(([name, text]) => (
          <div key={`tag ${name}`} class="tag">
            <dt>tag {inWords(name)}</dt>
            <dd>{text}</dd>
          </div>
        ))}
        {Object.entries(notes?.annotations ?? {}).map(([name, text]) => (
          <div key={`note ${name}`} class="note">
            <dt>{inWords(name)}</dt>
            <dd>
              {text}{' '}
              {notes?.writable === true && (
                <button
                  type="button"
                  aria-label={`Remove the note ${name}`}
                  onClick={() => void save({ remove: [name] })}
                >
                  ✕
                </button>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {notes?.writable === true && <NoteForm onSave={save} />}
      {trouble !== '' && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
    </section>
  );
}

/** A long name (SLURM_TASKS_PER_NODE) goes on in the next line after an underscore, not within a word. */
const inWords = (name: string) => name.split(/(?<=_)/).map((word, i) => [i > 0 && <wbr key={word} />, word]);

function NoteForm({ onSave }: { onSave(body: object): Promise<void> }) {
  const [kind, setKind] = useState('note');
  const [name, setName] = useState('note');
  const [text, setText] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() === '' || text.trim() === '') return;
        void onSave({ [kind === 'tag' ? 'tags' : 'annotations']: { [name.trim()]: text.trim() } });
        setText('');
      }}
    >
      <select aria-label="Note or tag" value={kind} onChange={({ currentTarget }) => setKind(currentTarget.value)}>
        <option value="note">note</option>
        <option value="tag">tag</option>
      </select>
      <input
        aria-label="Name"
        value={name}
        maxLength={200}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
      <input
        aria-label="Text"
        class="text"
        placeholder="Text of the note or tag"
        value={text}
        maxLength={1000}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit">Save</button>
    </form>
  );
}

function factsOf({ job, gpus }: Report): [string, string][] {
  const { asked } = job;
  const wanted = [
    asked.nodes !== undefined && count(asked.nodes, 'node'),
    asked.cpus !== undefined && count(asked.cpus, 'CPU'),
    asked.memory_bytes !== undefined && bytes(asked.memory_bytes),
    asked.gpus !== undefined && count(asked.gpus, 'GPU'),
    asked.time_limit_seconds !== undefined && duration(asked.time_limit_seconds),
  ].filter(Boolean);
  const waited = job.submit === undefined ? undefined : duration((job.start - job.submit) / 1e6);
  const facts: [string, string | undefined | false][] = [
    ['asked for', wanted.join(', ')],
    ['submitted', job.submit !== undefined && `${moment(job.submit)} (waited ${waited})`],
    [
      'scheduler',
      job.scheduler === 'none' ? undefined : [job.scheduler, job.cluster].filter(Boolean).join(', cluster '),
    ],
    ['folder', job.directory],
    ['GPUs', [...new Set(gpus.map(({ model }) => model).filter(Boolean))].join(', ')],
    ['exit code', job.exit_code === undefined ? undefined : String(job.exit_code)],
    ['signal', job.signal],
    ['reason', job.reason],
    ['restarts', job.restart === undefined ? undefined : String(job.restart)],
    ...Object.entries(job.environment),
  ];
  return facts.filter((fact): fact is [string, string] => typeof fact[1] === 'string' && fact[1] !== '');
}
