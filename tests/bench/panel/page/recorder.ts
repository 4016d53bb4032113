/** Runs in the measured page before any other script. All times are in milliseconds. */
(() => {
  const wallNow = (): number => performance.timeOrigin + performance.now();

  /** Calls back when the current content of the page has been painted. */
  const whenPainted = (run: () => void): void =>
    void requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.addEventListener('message', () => {
        port1.close();
        run();
      });
      port1.start();
      port2.postMessage(null);
    });

  const longTasks: { readonly from: number; readonly ms: number }[] = [];
  new PerformanceObserver(list => {
    for (const { startTime, duration } of list.getEntries())
      longTasks.push({ from: startTime, ms: duration });
  }).observe({ type: 'longtask', buffered: true });
  const tasksSince = (since: number): readonly number[] =>
    longTasks.filter(({ from }) => from >= since).map(({ ms }) => ms);

  let hasTable = false;
  let tableAt: number | null = null;
  let liveAt: number | null = null;
  const exists = (selector: string): boolean => document.querySelector(selector) !== null;
  let interactiveAt: number | null = null;
  let loadedAt: number | null = null;
  let hasNavigation = false;
  const isComplete = (): boolean => exists('main h1') && !exists('[aria-busy=true]');
  /**
   * Records when the navigation and the whole page have been painted. A part of the page can start to load after the page was
   * complete, so the last time counts.
   */
  const recordOpening = (): void => {
    if (!hasNavigation && exists('nav a')) {
      hasNavigation = true;
      whenPainted(() => (interactiveAt = performance.now()));
    }
    if (!isComplete()) loadedAt = null;
    else if (loadedAt === null)
      whenPainted(() => {
        // Another part may have started to load before the paint.
        if (isComplete()) loadedAt = performance.now();
      });
  };
  new MutationObserver(recordOpening).observe(document, {
    childList: true,
    subtree: true,
    attributeFilter: ['aria-busy'],
  });
  const loading = new MutationObserver(() => {
    if (!hasTable && exists('[role=gridcell], .tile')) {
      hasTable = true;
      whenPainted(() => (tableAt = performance.now()));
    }
    if (!exists('[data-stream="live"]')) return;
    liveAt = performance.now();
    loading.disconnect();
  });
  loading.observe(document, { childList: true, subtree: true, attributeFilter: ['data-stream'] });

  /** Returns true for requests that load data of the first table. */
  const isFirstData = ({ name }: PerformanceEntry): boolean => {
    const { pathname, searchParams } = new URL(name);
    const isList = pathname === '/api/queue' && !searchParams.has('cursor');
    return isList || pathname === '/api/queue/status' || pathname === '/api/admin/workers';
  };

  interface EventInPage {
    readonly at: string;
    readonly job?: { readonly progress?: { readonly step?: number } | null } | null;
    readonly worker?: { readonly name: string } | null;
  }
  const renamed = /marked (\d+)$/;
  /** The position of the mark, the number that identifies a change, in the page and in the event for each kind of change. */
  const kinds = {
    progress: {
      selector: '.progress-text',
      find: /^([\d,]+) \//,
      markIn: (event: EventInPage) => event.job?.progress?.step?.toString(),
    },
    name: {
      selector: '.worker-name',
      find: renamed,
      markIn: (event: EventInPage) => renamed.exec(event.worker?.name ?? '')?.[1],
    },
  };

  interface Mark {
    readonly name: string;
    eventAt?: number;
    gotAt?: number;
    shownAt?: number;
    paintedAt?: number;
  }
  let watching: (() => object) | null = null;
  let scrolling: {
    from: number;
    frames: number;
    maxRows: number;
    longestGap: number;
    tickAt: number;
  } | null = null;

  const frame = (): void => {
    if (scrolling === null) return;
    scrolling.frames += 1;
    scrolling.maxRows = Math.max(scrolling.maxRows, document.querySelectorAll('[data-row]').length);
    requestAnimationFrame(frame);
  };
  const tick = (): void => {
    if (scrolling === null) return;
    const now = performance.now();
    scrolling.longestGap = Math.max(scrolling.longestGap, now - scrolling.tickAt);
    scrolling.tickAt = now;
    setTimeout(tick);
  };

  const bench = {
    /** Returns the times of the first table; null until it is painted. */
    loaded() {
      if (tableAt === null) return null;
      const data = performance.getEntriesByType('resource').filter(isFirstData).slice(0, 4);
      const resources = data.filter(entry => entry instanceof PerformanceResourceTiming);
      const before = longTasks.filter(({ from }) => from <= (tableAt ?? 0));
      return {
        dataAt: Math.max(...resources.map(({ responseEnd }) => responseEnd)),
        bytes: resources.reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0),
        longestTask: Math.max(0, ...before.map(({ ms }) => ms)),
        tableAt,
        liveAt,
      };
    },

    /**
     * Returns the times when the navigation and the complete page were painted; null until the page has been complete for a
     * second.
     */
    opened() {
      if (loadedAt === null || performance.now() - loadedAt <= 1_000) return null;
      return { interactiveAt, loadedAt };
    },

    /** Returns the length of a response, and the median time of five runs to parse it. */
    async parseMs(path: string) {
      const text = await (await fetch(path)).text();
      const times: number[] = [];
      for (let run = 0; run < 5; run += 1) {
        const startedAt = performance.now();
        JSON.parse(text);
        times.push(performance.now() - startedAt);
      }
      times.sort((a, b) => a - b);
      const median = times[2];
      return { bytes: text.length, ms: median };
    },

    /** Records when each new mark appears in the page, and when its event arrives on a separate event stream. */
    watch(kind: keyof typeof kinds) {
      const { selector, find, markIn } = kinds[kind];
      const marks = new Map<string, Mark>();
      const markOf = (name: string): Mark => {
        const mark = marks.get(name) ?? { name };
        marks.set(name, mark);
        return mark;
      };
      const from = performance.now();
      let events = 0;
      const source = new EventSource('/api/events');
      source.addEventListener('message', ({ data }: MessageEvent<string>) => {
        const gotAt = wallNow();
        events += 1;
        const event = JSON.parse(data) as EventInPage;
        const name = markIn(event);
        if (name !== undefined) Object.assign(markOf(name), { gotAt, eventAt: Date.parse(event.at) });
      });
      const recordNewMarks = (): void => {
        const shownAt = wallNow();
        const newMarks: Mark[] = [];
        for (const element of document.querySelectorAll(selector)) {
          const name = find.exec(element.textContent ?? '')?.[1]?.replaceAll(',', '');
          const mark = name === undefined ? undefined : markOf(name);
          if (mark === undefined || mark.shownAt !== undefined) continue;
          mark.shownAt = shownAt;
          newMarks.push(mark);
        }
        if (newMarks.length === 0) return;
        whenPainted(() => {
          for (const mark of newMarks) mark.paintedAt = wallNow();
        });
      };
      const observer = new MutationObserver(recordNewMarks);
      observer.observe(document, { childList: true, subtree: true, characterData: true });
      watching = () => {
        source.close();
        observer.disconnect();
        return { marks: [...marks.values()], events, ms: performance.now() - from, tasks: tasksSince(from) };
      };
    },
    watched: () => watching?.(),

    startScrolling() {
      const from = performance.now();
      scrolling = { from, frames: 0, maxRows: 0, longestGap: 0, tickAt: from };
      requestAnimationFrame(frame);
      setTimeout(tick);
    },
    isAtEnd() {
      const {
        scrollTop = 0,
        clientHeight = 0,
        scrollHeight = 0,
      } = document.querySelector('.table-scroll') ?? {};
      return scrollTop + clientHeight >= scrollHeight - 1;
    },
    endScrolling() {
      if (scrolling === null) return null;
      const { from, frames, maxRows, longestGap } = scrolling;
      scrolling = null;
      return { frames, maxRows, longestGap, ms: performance.now() - from, tasks: tasksSince(from) };
    },
  };
  Object.assign(globalThis, { bench });
})();
