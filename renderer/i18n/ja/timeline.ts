import type { TimelineKey } from '../en/timeline.ts';

export const timeline: Readonly<Record<TimelineKey, string>> = {
  'timeline.label': 'ワーカーと時刻ごとの試行',
  'timeline.help':
    '矢印キーで表示範囲を移動し、プラスとマイナスで拡大・縮小し、N で現在に戻ります。Tab でバーに移動します。バーでは矢印キーで別のバーを選び、Enter でそのジョブを開きます。',
  'timeline.zoom': '表示範囲',
  'timeline.zoom.hour': '1 時間',
  'timeline.zoom.hours': '6 時間',
  'timeline.zoom.day': '日',
  'timeline.zoom.week': '週',
  'timeline.zoom.month': '月',
  'timeline.earlier': '前の時間を表示',
  'timeline.later': '後の時間を表示',
  'timeline.now': '現在',
  'timeline.none':
    'ワーカーもジョブもまだありません。ここではワーカーごとに 1 行を表示します。ジョブの試行はその行のバーになり、待機中のジョブには予想開始時刻が表示されます。',
  'timeline.none.add': 'ワーカーを追加',
  'timeline.noBars': 'この範囲で実行されたジョブはありません。',
  'timeline.cut':
    'この範囲の最新の試行 {count, number} 件のみを表示しています。以前の試行を見るには拡大してください。',
  'timeline.showTable': '表で表示',
  'timeline.hideTable': '表を隠す',
  'timeline.table': '表示範囲の試行',
  'timeline.column.worker': 'ワーカー',
  'timeline.column.job': 'ジョブ',
  'timeline.column.attempt': '試行',
  'timeline.column.state': '状態',
  'timeline.column.from': '開始',
  'timeline.column.to': '終了',
  'timeline.bar': '{worker} の {job}、試行 {attempt, number}: {state}、{from} から {to} まで',
  'timeline.bar.live': '{worker} の {job}、試行 {attempt, number}: {from} から{state}',
  'timeline.bar.expected': '{worker} の {job}、試行 {attempt, number}: {from} から{state}、終了予想 {to}',
  'timeline.bar.predicted': '{job}: 待機中、{from} に {worker} で開始する見込み',
  'timeline.legend': '色',
  'timeline.state.predicted': '予想開始',
  'timeline.legend.moved': 'キューに戻し済みまたは喪失',
  'timeline.legend.rest': '終了までの見込み',
};
