import type { QueueKey } from '../en/queue.ts';

export const queue: Readonly<Record<QueueKey, string>> = {
  'queue.column.grip': '移動',
  'queue.move.grip': 'ジョブ {config} を移動',
  'queue.move.hint': 'ドラッグして移動。またはスペースキーを押してから矢印キーを使用',
  'queue.move.grabbed':
    '{config} は {position} 番目です。矢印キーで位置を選び、スペースキーを押してください。Esc で取り消します。',
  'queue.move.to': '{config} を {position} 番目に移動します',
  'queue.move.stays': '{config} は {position} 番目のままです',
  'queue.move.moved': '{config} を {position} 番目に移動しました',
  'queue.move.gone': '{config} はもう待機していません',
  'queue.move.targetIsTop':
    '移動できません: {other} は先頭に移動済みですが、{config} は違います。{config} も先頭に移動してください。',
  'queue.move.jobIsTop':
    '移動できません: {config} は先頭に移動済みですが、{other} は違います。先に {config} の優先度を設定してください。',
  'queue.move.priority':
    '移動できません: 優先度は {other} が「{otherPriority}」、{config} が「{priority}」です。先に優先度を変更してください。',
  'queue.move.up': '上へ',
  'queue.move.down': '下へ',
  'queue.move.drop': 'ここに移動',
  'queue.move.cancel': 'キャンセル',
  'queue.runningOf': '{max, number} 件中 {running, number} 件のジョブを実行中',
  'queue.teams': '優先度が同じときはチームが交代で実行します。実行中のジョブ: {list}。',
  'queue.team.of': '{team} {running, number}/{max, number}',
  'queue.team': '{team} {running, number}',
  'queue.groups': 'ジョブが待つ理由',
  'queue.group.for': '{count, plural, other {# 件のジョブが {needs} を待っています}}',
  'queue.group.any': '{count, plural, other {# 件のジョブが待っています}}',
  'queue.group.oneFor': '{job} が {needs} を待っています',
  'queue.group.oneAny': '{job} が待っています',
  'queue.group.allBusy': '{count, plural, other {条件に合うワーカー # 台は使用中です}}',
  'queue.group.oneBusy': '{worker} は使用中です',
  'queue.group.nextFree': '約 {time} 後に空きます',
  'queue.group.more': '{count, plural, other {さらに # 件を表示}}',
  'queue.group.rest': '{count, plural, other {ほかの待機中のジョブ # 件はグループ外です。}}',
  'queue.group.limits': '制限を変更',
};
