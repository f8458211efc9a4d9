import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { code, Fault, reason, usage } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { suggest } from '../../base/suggest.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { checkModelName, MODEL_FORMAT, type Model } from './model.ts';

/** Where models are kept. */
export interface ModelStore {
  /** In words, for people. */
  location: string;
  /** All that can be read; `unreadable` is told of the others. */
  list(unreadable?: (fault: Fault) => void): Promise<Model[]>;
  /** Is there one of this name, readable or not? */
  has(name: string): Promise<boolean>;
  /** Undefined when there is none of this name. */
  load(name: string): Promise<Model | undefined>;
  /** Keeps a new model; refuses when there is one of its name already. */
  add(model: Model): Promise<void>;
  /** Keeps a model in place of the one of its name. */
  save(model: Model): Promise<void>;
  /** Whether there was one. */
  delete(name: string): Promise<boolean>;
}

/** $XDG_DATA_HOME/tacho/models, where that is not said otherwise. */
export function modelsFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  return path.join(env.XDG_DATA_HOME || path.join(env.HOME || os.homedir(), '.local/share'), 'tacho', 'models');
}

/** Models as files of a folder, one JSON file each. */
export function folderStore(folder: string): ModelStore {
  const fileOf = (name: string): string => {
    checkModelName(name);
    return path.join(folder, `${name}.json`);
  };
  const load = async (name: string): Promise<Model | undefined> => {
    const file = fileOf(name);
    let text: string;
    try {
      text = fs.readFileSync(file, 'utf8');
    } catch (error) {
      if (code(error) === 'ENOENT') return undefined;
      throw new Fault(`cannot read ${file}: ${reason(error)}`, { cause: error });
    }
    return parseModel(file, text);
  };
  return {
    location: folder,
    load,
    async has(name) {
      return fs.existsSync(fileOf(name));
    },
    async list(unreadable) {
      let names: string[];
      try {
        names = fs.readdirSync(folder);
      } catch (error) {
        if (code(error) === 'ENOENT') return [];
        throw new Fault(`cannot open ${folder}: ${reason(error)}`, { cause: error });
      }
      const models: Model[] = [];
      for (const name of names.filter((each) => each.endsWith('.json')).sort()) {
        const model = await readable(() => load(name.slice(0, -5)), unreadable);
        if (model !== undefined) models.push(model);
      }
      return models;
    },
    async add(model) {
      const file = fileOf(model.name);
      // linking fails when the name is taken, also by somebody who creates it at this moment
      const whole = `${file}.${process.pid}.new`;
      try {
        makeFolder(folder, 0o700);
        replaceJson(whole, model);
        fs.linkSync(whole, file);
      } catch (error) {
        if (code(error) === 'EEXIST') throw existsAlready(model.name, folder);
        throw new Fault(`cannot write ${file}: ${reason(error)}`, { cause: error });
      } finally {
        fs.rmSync(whole, { force: true });
      }
    },
    async save(model) {
      const file = fileOf(model.name);
      try {
        replaceJson(file, model);
      } catch (error) {
        throw new Fault(`cannot write ${file}: ${reason(error)}`, { cause: error });
      }
    },
    async delete(name) {
      const file = fileOf(name);
      try {
        fs.unlinkSync(file);
        return true;
      } catch (error) {
        if (code(error) === 'ENOENT') return false;
        throw new Fault(`cannot delete ${file}: ${reason(error)}`, { cause: error });
      }
    },
  };
}

/** One model that cannot be read does not hide the others. */
export async function readable(
  read: () => Promise<Model | undefined>,
  unreadable: ((fault: Fault) => void) | undefined,
): Promise<Model | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    unreadable?.(error);
    return undefined;
  }
}

export function existsAlready(name: string, storeName: string): Fault {
  return new Fault(`there is a model "${name}" already in ${storeName}`, {
    hint: `take another name, or remove it first: tacho model delete ${name}`,
  });
}

/** The model of this name; says which there are when there is none. */
export async function needModel(store: ModelStore, name: string): Promise<Model> {
  const model = await store.load(name);
  if (model !== undefined) return model;
  throw await noModel(store, name);
}

export async function noModel(store: ModelStore, name: string): Promise<Fault> {
  const names = (await store.list()).map((model) => model.name);
  const near = suggest(name, names);
  return usage(
    `there is no model "${name}" in ${store.location}`,
    near !== undefined
      ? `did you mean ${near}?`
      : names.length > 0
        ? `there are ${names.join(', ')}`
        : 'tacho model create NAME RECORDING… makes one',
  );
}

/** The model of this name, unless it is disabled. */
export async function usableModel(store: ModelStore, name: string): Promise<Model> {
  const model = await needModel(store, name);
  if (model.enabled) return model;
  throw new Fault(`the model "${name}" is disabled`, { hint: `tacho model enable ${name}` });
}

/** Checks what a file says: somebody may have written it by hand. */
export function parseModel(file: string, text: string): Model {
  const bad = (why: string): Fault =>
    new Fault(`${file} is not a model: ${why}`, {
      hint: 'tacho model delete removes it; then tacho model create can make it again',
    });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw bad('it is damaged');
  }
  if (!isRecord(value) || typeof value.format !== 'number') throw bad('it has no format number');
  if (value.format > MODEL_FORMAT) {
    throw new Fault(`${file} was written by a newer Tacho (format ${value.format})`, {
      hint: 'update Tacho on this machine',
    });
  }
  if (typeof value.name !== 'string' || typeof value.enabled !== 'boolean') throw bad('it has no name');
  if (!Array.isArray(value.jobs) || !value.jobs.every(isJob)) throw bad('its jobs are not complete');
  return value as unknown as Model;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isNumbers = (value: unknown): boolean =>
  isRecord(value) && Object.values(value).every((each) => typeof each === 'number');

const isJob = (value: unknown): boolean =>
  isRecord(value) &&
  typeof value.id === 'string' &&
  isNumbers(value.features) &&
  isRecord(value.operations) &&
  Object.values(value.operations).every(isNumbers);
