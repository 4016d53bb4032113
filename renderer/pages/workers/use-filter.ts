import { useSearchParams } from 'wouter';

/** The text of the filter lives in the address: a link to what is seen is a link to what is seen. */
export function useFilter(): readonly [string, (text: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = (text: string): void =>
    // Not a step in the history for each letter.
    setParams(text === '' ? {} : { q: text }, { replace: true });
  return [params.get('q') ?? '', set];
}
