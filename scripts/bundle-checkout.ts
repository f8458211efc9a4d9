import { VERSION } from '../src/base/version.ts';
import { bundle, DUCKDB_PACKAGE } from './bundle.ts';

/** scripts/bundle-checkout calls it with the folder for the bundles, from which they go to the one above it. */
await bundle({ folder: process.argv[2]!, version: VERSION, home: '../..', duckdb: `../../${DUCKDB_PACKAGE}` });
