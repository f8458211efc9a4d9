import { shownAddress } from '../base/address.ts';
import { checkModelName, type Model } from '../judge/models/model.ts';
import { existsAlready, type ModelStore, parseModel, readable } from '../judge/models/store.ts';
import type { Database } from './connect.ts';
import { storableJson } from './copy-write.ts';

interface ModelRow {
  name: string;
  enabled: boolean;
  model: string;
}

const SELECT = 'select name, enabled, model::text from tacho.models';

/** Models in the database: all its users share them. */
export function databaseModels(database: Database): ModelStore {
  const databaseText = `the database ${shownAddress(database.address)}`;
  const modelOf = ({ name, enabled, model }: ModelRow): Model => ({
    ...parseModel(`the model "${name}" in ${databaseText}`, model),
    enabled,
  });
  return {
    location: databaseText,
    async list(unreadable) {
      const { rows } = await database.query<ModelRow>(`${SELECT} order by name collate "C"`);
      const models = await Promise.all(rows.map((row) => readable(async () => modelOf(row), unreadable)));
      return models.filter((model) => model !== undefined);
    },
    async has(name) {
      checkModelName(name);
      const { rowCount } = await database.query('select 1 from tacho.models where name = $1', [name]);
      return rowCount === 1;
    },
    async load(name) {
      checkModelName(name);
      const { rows } = await database.query<ModelRow>(`${SELECT} where name = $1`, [name]);
      return rows[0] === undefined ? undefined : modelOf(rows[0]);
    },
    async add(model) {
      checkModelName(model.name);
      const { rowCount } = await database.query(
        'insert into tacho.models (name, enabled, model) values ($1, $2, $3) on conflict do nothing',
        [model.name, model.enabled, storableJson(model)],
      );
      if (rowCount === 0) throw existsAlready(model.name, databaseText);
    },
    async save(model) {
      await database.query('update tacho.models set enabled = $2, model = $3 where name = $1', [
        model.name,
        model.enabled,
        storableJson(model),
      ]);
    },
    async delete(name) {
      const { rowCount } = await database.query('delete from tacho.models where name = $1', [name]);
      return rowCount === 1;
    },
  };
}
