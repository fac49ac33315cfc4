export { program } from './program.ts';
export { progressOn, type Progress } from './progress.ts';
