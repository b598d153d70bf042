/** Records a trace while an action runs, and says how many frames were drawn in a second, and how many were late. */
export async function framesOf(session, action) {
  const events = []
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value))
  await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['disabled-by-default-devtools.timeline.frame', 'devtools.timeline.frame', 'disabled-by-default-devtools.timeline', 'devtools.timeline'] } })
  await session.send('Performance.setTimeDomain', { timeDomain: 'threadTicks' }).catch(() => {})
  await session.send('Performance.enable')
  const before = await mainThread(session)
  await action()
  const after = await mainThread(session)
  const ended = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve))
  await session.send('Tracing.end')
  await ended
  await session.detach()
  return summary(events, after - before)
}

function summary(events, busy) {
  const drawn = events.filter((event) => event.name === 'DrawFrame').map((event) => event.ts).sort((a, b) => a - b)
  if (drawn.length < 2) return 'no frames'
  const seconds = (drawn.at(-1) - drawn[0]) / 1e6
  const gaps = drawn.slice(1).map((at, index) => (at - drawn[index]) / 1000).sort((a, b) => a - b)
  const longest = gaps.at(-1)
  const typical = gaps[Math.floor(gaps.length * 0.95)]
  const tasks = events.filter((event) => event.name === 'RunTask' && event.dur > 50_000).length
  // The processor time of the page's main thread says what a frame costs when other processes use the machine, too.
  return `${(drawn.length / seconds).toFixed(1)} frames/s (95% within ${typical.toFixed(0)} ms, longest ${longest.toFixed(0)} ms, ${tasks} tasks above 50 ms, ${((busy * 1000) / drawn.length).toFixed(1)} ms of the main thread each)`
}

/** Seconds of processor time of the page's main thread so far. */
async function mainThread(session) {
  const { metrics } = await session.send('Performance.getMetrics')
  return metrics.find((metric) => metric.name === 'TaskDuration')?.value ?? 0
}
