/** `accelerate launch`, by the Python that has it. */
export const accelerate = (python: string): readonly string[] => [python, '-m', 'accelerate.commands.launch'];

/** One process for each GPU. Without a number accelerate starts one for every GPU that it sees. */
export const processOptions = (count: number | null): readonly string[] =>
  count === null ? [] : [...(count > 1 ? ['--multi_gpu'] : []), `--num_processes=${count}`];
