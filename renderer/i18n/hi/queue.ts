import type { QueueKey } from '../en/queue.ts';

export const queue: Readonly<Record<QueueKey, string>> = {
  'queue.column.grip': 'जगह बदलें',
  'queue.move.grip': 'जॉब {config} की जगह बदलें',
  'queue.move.hint': 'खींचकर जगह बदलें, या Space दबाकर तीर कुंजियाँ चलाएँ',
  'queue.move.grabbed':
    '{config} क्रम {position} पर है। तीर कुंजियों से जगह चुनें, फिर Space दबाएँ। Escape से रद्द होता है।',
  'queue.move.to': '{config} क्रम {position} पर जाएगा',
  'queue.move.stays': '{config} क्रम {position} पर ही है',
  'queue.move.moved': '{config} क्रम {position} पर चला गया',
  'queue.move.gone': '{config} अब कतार में नहीं है',
  'queue.move.targetIsTop': 'संभव नहीं: {other} सबसे ऊपर लाया गया था, {config} नहीं। {config} को भी सबसे ऊपर लाएँ।',
  'queue.move.jobIsTop':
    'संभव नहीं: {config} सबसे ऊपर लाया गया था, {other} नहीं। पहले {config} की प्राथमिकता तय करें।',
  'queue.move.priority':
    'संभव नहीं: {other} की प्राथमिकता {otherPriority} है और {config} की {priority}। पहले प्राथमिकता बदलें।',
  'queue.move.up': 'ऊपर',
  'queue.move.down': 'नीचे',
  'queue.move.drop': 'यहाँ रखें',
  'queue.move.cancel': 'रद्द करें',
  'queue.runningOf': '{max, number} में से {running, number} जॉब चल रहे हैं',
  'queue.teams': 'समान प्राथमिकता पर टीमें बारी-बारी से चलती हैं। चल रहे जॉब: {list}।',
  'queue.team.of': '{team} {max, number} में से {running, number}',
  'queue.team': '{team} {running, number}',
  'queue.groups': 'जॉब क्यों रुके हैं',
  'queue.group.for': '{count, plural, one {# जॉब को {needs} का इंतज़ार है} other {# जॉब को {needs} का इंतज़ार है}}',
  'queue.group.any': '{count, plural, one {# जॉब इंतज़ार में है} other {# जॉब इंतज़ार में हैं}}',
  'queue.group.oneFor': '{job} को {needs} का इंतज़ार है',
  'queue.group.oneAny': '{job} इंतज़ार में है',
  'queue.group.allBusy': '{count, plural, one {एकमात्र उपयुक्त वर्कर व्यस्त है} other {सभी # उपयुक्त वर्कर व्यस्त हैं}}',
  'queue.group.oneBusy': '{worker} व्यस्त है',
  'queue.group.nextFree': 'अगला लगभग {time} में खाली होगा',
  'queue.group.more': '{count, plural, one {# और जॉब दिखाएँ} other {# और जॉब दिखाएँ}}',
  'queue.group.rest': '{count, plural, one {# और जॉब किसी समूह में नहीं है।} other {# और जॉब किसी समूह में नहीं हैं।}}',
  'queue.group.limits': 'सीमाएँ बदलें',
};
