import { useSearchParams } from 'wouter';

/** The filter is in the URL, so that a link shows the same workers. */
export function useFilter(): readonly [string, (text: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = (text: string): void =>
    // Replace the history entry instead of adding one per letter.
    setParams(text === '' ? {} : { q: text }, { replace: true });
  return [params.get('q') ?? '', set];
}
