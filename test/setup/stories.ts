/**
 * Properties tell the stories of the commit's seed in each run of `make test`: see seed.ts. New ones are for `make fuzz`, which prints the seed of a red one.
 */
import * as fc from 'fast-check';
import { seedOfTests } from './seed.ts';

if (process.env['PODLOOM_FUZZ'] === undefined) fc.configureGlobal({ seed: seedOfTests() });
