import type { FilePoint } from './names.ts';

/** Remembers the last step of each name. With `onlyNewer`, removes what is not beyond that step. */
export function createNewerFilter() {
  const lastSteps = new Map<string, number>();
  return (points: readonly FilePoint[], onlyNewer: boolean): readonly FilePoint[] => {
    const isNew = (name: string, step: number): boolean => !onlyNewer || step > (lastSteps.get(name) ?? -1);
    const news = points.flatMap(point => {
      const values = Object.entries(point.values).filter(([name]) => isNew(name, point.step));
      const epoch = isNew('epoch', point.step) ? point.epoch : undefined;
      if (values.length === 0 && epoch === undefined) return [];
      return [{ ...point, epoch, values: Object.fromEntries(values) }];
    });
    for (const { step, epoch, values } of news)
      for (const name of [...Object.keys(values), ...(epoch === undefined ? [] : ['epoch'])])
        lastSteps.set(name, Math.max(step, lastSteps.get(name) ?? -1));
    return news;
  };
}
