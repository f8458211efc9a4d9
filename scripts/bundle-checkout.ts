import { VERSION } from '../src/base/version.ts';
import { bundle } from './bundle.ts';

/** scripts/bundle-checkout calls it with the folder for the bundles, from which they go to the one above it. */
await bundle({ folder: process.argv[2]!, version: VERSION, home: '../..' });
