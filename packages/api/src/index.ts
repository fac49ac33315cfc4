export { Bug, Conflict, InvalidInput, PodloomError, Unavailable } from './errors.ts';
