/**
 * Properties tell the same stories in each run of `make test`, so that what is red there is red because of a change. New ones are for `make fuzz`, which
 * prints the seed of a red one.
 */
import * as fc from 'fast-check';

if (process.env['PODLOOM_FUZZ'] === undefined) fc.configureGlobal({ seed: 20_261_118 });
